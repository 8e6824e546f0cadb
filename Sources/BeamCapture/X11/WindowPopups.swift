import BeamMedia
import CXCB
import Glibc

/// A window that is drawn over the shared one: a menu, a tooltip, a dialog.
struct CaptureLayer {
    let pixels: PopupPixels
    /// Where it stands, in the picture's coordinates, with its border; may lie outside.
    var standing: PixelRect
    /// Where it is drawn.
    var frame: PixelRect
    /// The parts of `frame` that the window covers, in the picture's coordinates.
    var shape: [PixelRect]
    /// The pixels are blended with what lies below by their alpha.
    var isBlended: Bool

    /// Whether both are drawn alike, with the same pixels.
    func isDrawn(as other: CaptureLayer) -> Bool {
        pixels === other.pixels && frame == other.frame && shape == other.shape && isBlended == other.isBlended
    }
}

/// The pixels of a popup, also where other windows cover it, and what changes in them.
final class PopupPixels {
    let window: xcb_window_t
    let layout: PixelLayout
    let pixmap: NamedPixmap
    let border: Int
    /// 0 without the DAMAGE extension.
    let damage: xcb_damage_damage_t
    /// For fetching the damage; 0 without XFIXES.
    let region: xcb_xfixes_region_t
    private let connection: XConnection

    init(_ connection: XConnection, _ window: xcb_window_t, border: Int, layout: PixelLayout) throws(XFailure) {
        self.connection = connection
        self.window = window
        self.layout = layout
        self.border = border
        // Windows that an earlier object has redirected stay so until the server has done both.
        try connection.check(
            xcb_composite_redirect_window_checked(
                connection.raw, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)))
        do throws(XFailure) {
            pixmap = try NamedPixmap(connection, window: window)
        } catch {
            Self.unredirect(connection, window)
            throw error
        }
        if connection.extensions.damage != nil, connection.extensions.xfixes != nil {
            damage = connection.makeID()
            region = connection.makeID()
            xcb_xfixes_create_region(connection.raw, region, 0, nil)
            xcb_damage_create(connection.raw, damage, window, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue))
        } else {
            damage = 0
            region = 0
        }
    }

    deinit {
        // If the window has gone, these are refused, which nobody waits for.
        if damage != 0 { xcb_damage_destroy(connection.raw, damage) }
        if region != 0 { xcb_xfixes_destroy_region(connection.raw, region) }
        Self.unredirect(connection, window)
    }

    private static func unredirect(_ connection: XConnection, _ window: xcb_window_t) {
        xcb_composite_unredirect_window(connection.raw, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
    }
}

/// Finds the popups of a shared window: menus, tooltips and dialogs of the same program that stand over it.
///
/// A popup is one that names the window or another popup of it as its owner (ICCCM, WM_TRANSIENT_FOR), or an
/// override-redirect window of the same program that names nobody. It has to touch the window or another popup: a menu of
/// the program's second window isn't one of the first. One that hangs over the window's edge is moved inside by the
/// shortest way, because viewers see nothing outside.
final class WindowPopups {
    /// A submenu may stand so far from its menu.
    private static let gap = 4

    private let connection: XConnection
    private let atoms: WindowAtoms
    private let shared: xcb_window_t
    private var family = Family()
    private var isFamilyOutdated = true

    /// The shared window with what it lies in and what lies in it, and what its program is known by.
    private struct Family {
        var windows: Set<xcb_window_t> = []
        var topLevel: xcb_window_t = 0
        var program = Program()
    }

    private struct Program {
        var leader: UInt32?
        var group: UInt32?
        var process: UInt32?
        var machine: [UInt8] = []
        /// The part of window numbers that is the same for all windows of one connection.
        var client: UInt32 = 0

        func isSame(as other: Program) -> Bool {
            func same(_ one: UInt32?, _ two: UInt32?) -> Bool { one != nil && one == two }
            return client == other.client || same(leader, other.leader) || same(group, other.group)
                || same(process, other.process) && machine == other.machine
        }
    }

    private struct Candidate {
        /// The window with the pixels; in a window manager's frame.
        var window: xcb_window_t
        /// WM_TRANSIENT_FOR; nil: not set.
        var owner: xcb_window_t?
        var isDialog: Bool
        var isOverrideRedirect: Bool
        var program: Program
        var pixels: PopupPixels?
    }

    /// What is known of the root's visible children, by number. Nil: it can't be a popup.
    private var known: [xcb_window_t: Candidate?] = [:]
    /// By visual. Nil: a visual that can't be read.
    private var layouts: [xcb_visualid_t: PixelLayout?] = [:]

    init(_ connection: XConnection, _ shared: xcb_window_t) throws(XFailure) {
        self.connection = connection
        self.shared = shared
        atoms = try WindowAtoms(connection)
        // Before the windows are read, so that no change is missed.
        xcb_change_window_attributes(
            connection.raw, connection.root, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue])
    }

    /// Whether the layers may have changed with this event.
    func isMoved(by event: XEvent) -> Bool {
        switch event {
        case .shown(let window):
            // What was known of it may be of an earlier window.
            if !family.windows.contains(window) { known[window] = nil }
            return true
        case .hidden(let window), .destroyed(let window):
            guard let candidate = known.removeValue(forKey: window) else { return false }
            return candidate != nil
        case .configured(let window):
            if family.windows.contains(window) { return !popups.isEmpty }
            return popups.contains { $0.key == window || $0.value.window == window }
        case .reparented(let window):
            isFamilyOutdated = isFamilyOutdated || family.windows.contains(window)
            known[window] = nil
            return true
        default:
            return false
        }
    }

    private var popups: [xcb_window_t: Candidate] { known.compactMapValues { $0 } }

    /// The popups from the lowest to the topmost, for a picture of `size` whose top left pixel is the shared window's.
    func layers(in size: PixelSize) throws(XFailure) -> [CaptureLayer] {
        if isFamilyOutdated { try findFamily() }
        let topLevels = try connection.topLevels()
        let visible = Set(topLevels.map(\.window))
        known = known.filter { visible.contains($0.key) }
        guard let lowest = topLevels.firstIndex(where: { $0.window == family.topLevel }) else { return [] }
        let above = topLevels[(lowest + 1)...]
        for topLevel in above where known[topLevel.window] == nil {
            known[topLevel.window] = .some(try candidate(topLevel))
        }
        let owned = ownedWindows(among: above.map(\.window))
        let isComposited = try owned.isEmpty ? false : connection.isComposited(atoms)
        var layers: [CaptureLayer] = []
        for topLevel in above where owned.contains(topLevel.window) {
            if let layer = try layer(topLevel, in: size, isComposited) { layers.append(layer) }
        }
        return Self.touching(layers, PixelRect(size))
    }

    // MARK: Whose window it is

    private func findFamily() throws(XFailure) {
        isFamilyOutdated = false
        let around = try connection.ancestors(of: shared)
        var main = shared
        for window in [shared] + around
        where try !connection.words(connection.askProperty(atoms.state, of: window)).isEmpty {
            main = window
            break
        }
        if main == shared, let inside = try connection.managedWindow(in: shared, atoms) { main = inside }
        family = Family(
            windows: Set([shared, main] + around), topLevel: around.last ?? shared, program: try program(of: main))
        known = [:]
    }

    private func program(of window: xcb_window_t) throws(XFailure) -> Program {
        let leader = connection.askProperty(atoms.clientLeader, of: window)
        let hints = connection.askProperty(XCB_ATOM_WM_HINTS.rawValue, of: window)
        let process = connection.askProperty(atoms.processID, of: window)
        let machine = connection.askProperty(XCB_ATOM_WM_CLIENT_MACHINE.rawValue, of: window)
        var program = Program()
        program.leader = try connection.words(leader).first
        let values = try connection.words(hints)
        // ICCCM 4.1.2.4: the flag WindowGroupHint, and the ninth field.
        if values.count >= 9, values[0] & 64 != 0 { program.group = values[8] }
        program.process = try connection.words(process).first
        program.machine = try connection.bytes(machine)
        program.client = window & ~xcb_get_setup(connection.raw).pointee.resource_id_mask
        return program
    }

    private func candidate(_ topLevel: TopLevel) throws(XFailure) -> Candidate? {
        let window =
            topLevel.isOverrideRedirect
            ? topLevel.window : try connection.managedWindow(in: topLevel.window, atoms) ?? topLevel.window
        let owner = connection.askProperty(XCB_ATOM_WM_TRANSIENT_FOR.rawValue, of: window)
        let type = connection.askProperty(atoms.type, of: window)
        let named = try connection.words(owner).first.flatMap { $0 == 0 ? nil : $0 }
        let types = try connection.words(type)
        if !topLevel.isOverrideRedirect, named == nil { return nil }
        if window != topLevel.window {
            xcb_change_window_attributes(
                connection.raw, window, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue])
        }
        return Candidate(
            window: window, owner: named, isDialog: types.isEmpty || types.contains(atoms.typeDialog),
            isOverrideRedirect: topLevel.isOverrideRedirect, program: try program(of: window))
    }

    /// Those of `windows` that belong to the shared one.
    private func ownedWindows(among windows: [xcb_window_t]) -> Set<xcb_window_t> {
        let popups = popups
        var owned: Set<xcb_window_t> = []
        var owners = family.windows
        var isDone = false
        while !isDone {
            isDone = true
            for window in windows where !owned.contains(window) {
                guard let candidate = popups[window], belongs(candidate, to: owners) else { continue }
                owned.insert(window)
                owners.formUnion([window, candidate.window])
                isDone = false
            }
        }
        return owned
    }

    private func belongs(_ candidate: Candidate, to owners: Set<xcb_window_t>) -> Bool {
        guard candidate.program.isSame(as: family.program) || candidate.owner.map(owners.contains) == true else {
            return false
        }
        guard let owner = candidate.owner else { return candidate.isOverrideRedirect }
        if owners.contains(owner) { return true }
        // For all windows of its program (EWMH, group transients).
        let isOfGroup =
            owner == connection.root || owner == family.program.leader || owner == family.program.group
        return isOfGroup && (candidate.isOverrideRedirect || candidate.isDialog)
    }

    // MARK: Pixels and places

    private func layer(
        _ topLevel: TopLevel, in size: PixelSize, _ isComposited: Bool
    ) throws(XFailure) -> CaptureLayer? {
        guard var candidate = known[topLevel.window] ?? nil else { return nil }
        let window = candidate.window
        let (attributes, geometry) = (
            xcb_get_window_attributes(connection.raw, window).sequence,
            xcb_get_geometry(connection.raw, window).sequence
        )
        let attributesReply = try connection.replyIfGranted(attributes, as: xcb_get_window_attributes_reply_t.self)
        let geometryReply = try connection.replyIfGranted(geometry, as: xcb_get_geometry_reply_t.self)
        guard let attributes = attributesReply?.body, let geometry = geometryReply?.body,
            UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue,
            let layout = layout(attributes.visual), let place = try connection.place(of: window, in: shared)
        else { return nil }
        let border = Int(geometry.border_width)
        let outer = PixelSize(width: Int(geometry.width) + 2 * border, height: Int(geometry.height) + 2 * border)
        if candidate.pixels?.pixmap.size != outer || candidate.pixels?.border != border {
            candidate.pixels = nil
            known[topLevel.window] = .some(candidate)
            do throws(XFailure) {
                candidate.pixels = try PopupPixels(connection, window, border: border, layout: layout)
            } catch {
                guard case .refused = error else { throw error }
                return nil
            }
            known[topLevel.window] = .some(candidate)
        }
        guard let pixels = candidate.pixels else { return nil }
        let standing = PixelRect(
            x: place.x - border, y: place.y - border, width: pixels.pixmap.size.width,
            height: pixels.pixmap.size.height)
        let frame = Self.inside(standing, size)
        let shape =
            try connection.shape(of: window)?
            .map { $0.moved(by: frame.x + border, frame.y + border).intersection(frame) }.filter { !$0.isEmpty }
        return CaptureLayer(
            pixels: pixels, standing: standing, frame: frame, shape: shape ?? [frame],
            isBlended: isComposited && geometry.depth == 32)
    }

    private func layout(_ visual: xcb_visualid_t) -> PixelLayout? {
        if let known = layouts[visual] { return known }
        let layout = try? PixelLayout(connection, visual: visual)
        layouts[visual] = .some(layout)
        return layout
    }

    /// `rect`, moved by the shortest way so that as much as possible of it lies in a picture of `size`.
    static func inside(_ rect: PixelRect, _ size: PixelSize) -> PixelRect {
        func clamp(_ start: Int, _ length: Int, _ limit: Int) -> Int {
            max(min(0, limit - length), min(max(0, limit - length), start))
        }
        return PixelRect(
            x: clamp(rect.x, rect.width, size.width), y: clamp(rect.y, rect.height, size.height), width: rect.width,
            height: rect.height)
    }

    /// The layers that touch `picture` or another one that does.
    private static func touching(_ layers: [CaptureLayer], _ picture: PixelRect) -> [CaptureLayer] {
        var reached = [picture]
        var isIn = layers.map { _ in false }
        var isDone = false
        while !isDone {
            isDone = true
            for (index, layer) in layers.enumerated() where !isIn[index] {
                guard reached.contains(where: { $0.intersects(layer.standing.expanded(by: gap)) }) else { continue }
                isIn[index] = true
                reached.append(layer.standing)
                isDone = false
            }
        }
        return zip(layers, isIn).filter { $0.1 }.map { $0.0 }
    }
}
