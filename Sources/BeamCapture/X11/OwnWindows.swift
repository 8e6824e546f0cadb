import BeamClock
import BeamMedia
import CXCB

/// A part of the picture that a card covers, because one of BeamRoom's own windows is there.
struct Cover: Equatable {
    /// The whole window, in the picture's coordinates; may lie outside. The card's sentence is in its middle.
    var frame: PixelRect
    /// What can be seen of it, in the picture's coordinates.
    var visible: [PixelRect]

    func moved(by x: Int, _ y: Int) -> Cover {
        Cover(frame: frame.moved(by: x, y), visible: visible.map { $0.moved(by: x, y) })
    }
}

extension CaptureTarget {
    /// What the covers leave of `region`: nothing that changes below a cover is worth a picture.
    func uncovered(_ region: DamageRegion) -> DamageRegion {
        guard !covers.isEmpty else { return region }
        var rest = DamageRegion()
        for rect in region.rects {
            for part in covers.reduce([rect], { $0.subtracting($1.visible) }) { rest.insert(part) }
        }
        return rest
    }

    /// Where the covers of both differ.
    func changedCovers(since other: CaptureTarget) -> DamageRegion {
        var region = DamageRegion()
        guard covers != other.covers else { return region }
        for cover in covers where !other.covers.contains(cover) { region.formUnion(visible(cover)) }
        for cover in other.covers where !covers.contains(cover) { region.formUnion(visible(cover)) }
        return region
    }

    private func visible(_ cover: Cover) -> DamageRegion {
        var region = DamageRegion()
        for rect in cover.visible { region.insert(rect.intersection(PixelRect(size))) }
        return region
    }
}

/// Finds the windows of this program, in whatever process, on a display whose screen is shared, so that they can be left
/// out: a viewer's picture would show itself in itself, and everybody would read the code for newcomers.
///
/// Each window carries the property `_BEAMROOM_WINDOW`, and the root window lists them in `_BEAMROOM_WINDOWS`. This is a
/// courtesy between programs of one person, no protection: every client of the display can read the screen. While the list
/// is empty, nothing is asked of the server. Otherwise the windows above are looked through at each change of the order,
/// size or place of a window.
final class OwnWindows {
    /// Must be the same as in the windows' module.
    static let markName = "_BEAMROOM_WINDOW"
    static let listName = "_BEAMROOM_WINDOWS"
    /// More entries than this are of programs that were killed; the last ones count.
    private static let longestList = 256
    /// A compositing manager draws a change later, or animates it: so long a window's former place stays covered.
    private static let lingering = Duration.milliseconds(300)

    private struct Own {
        var window: xcb_window_t
        var ancestors: [xcb_window_t]
    }

    private let connection: XConnection
    private let atoms: WindowAtoms
    private let mark: xcb_atom_t
    private let list: xcb_atom_t
    private var windows: [Own] = []
    private var isListOutdated = true
    /// Covers may have changed since `covers` was called.
    private(set) var areOutdated = true
    /// At the last call, on the screen.
    private var last: [Cover] = []
    private var former: [(cover: Cover, until: MediaTime)] = []

    init(_ connection: XConnection) throws(XFailure) {
        self.connection = connection
        atoms = try WindowAtoms(connection)
        let own = try connection.atoms([Self.markName, Self.listName])
        mark = own[0]
        list = own[1]
        selectEvents()
    }

    /// The screen's own changes always; those of the windows on it only if one of them is ours.
    private func selectEvents() {
        var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        if !windows.isEmpty { mask |= XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue }
        xcb_change_window_attributes(connection.raw, connection.root, XCB_CW_EVENT_MASK.rawValue, [mask])
    }

    /// When the covers have to be asked for again, whatever the server sends.
    var deadline: MediaTime? { former.map(\.until).min() }

    /// Whether the covers may have changed with this event.
    func isMoved(by event: XEvent) -> Bool {
        switch event {
        case .propertyChanged(connection.root, list): isListOutdated = true
        case .reparented(let window) where windows.contains { $0.window == window || $0.ancestors.contains(window) }:
            isListOutdated = true
        // Its number may be that of another program's window later.
        case .destroyed(let window) where windows.contains { $0.window == window }: isListOutdated = true
        case .configured, .shown, .hidden, .destroyed, .reparented: guard !windows.isEmpty else { return false }
        default: return false
        }
        areOutdated = true
        return true
    }

    /// The covers on the screen.
    func covers() throws(XFailure) -> [Cover] {
        areOutdated = false
        if isListOutdated { try readList() }
        guard !windows.isEmpty || !last.isEmpty || !former.isEmpty else { return [] }
        let isComposited = try connection.isComposited(atoms)
        let current = try visibleCovers(isComposited)
        let now = MediaTime.now
        former.removeAll { $0.until <= now }
        if isComposited, current != last {
            former += last.filter { !current.contains($0) }.map { ($0, now + Self.lingering) }
        }
        last = current
        // The present ones last: their sentences are drawn over those of the former ones.
        return former.map(\.cover) + current
    }

    private func readList() throws(XFailure) {
        isListOutdated = false
        // The newest entries are at the end of a list of any length.
        let entries = try connection.words(connection.askProperty(list, of: connection.root, longest: 1 << 16))
        var found: [Own] = []
        for window in Set(entries.suffix(Self.longestList)).sorted() {
            // A window's number may have been given to another one since.
            guard try !connection.words(connection.askProperty(mark, of: window)).isEmpty else { continue }
            let ancestors = try connection.ancestors(of: window)
            for window in [window] + ancestors {
                xcb_change_window_attributes(
                    connection.raw, window, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue])
            }
            found.append(Own(window: window, ancestors: ancestors))
        }
        windows = found
        selectEvents()
        // Once more after the events were selected, so that no window manager's frame is missed.
        for index in windows.indices { windows[index].ancestors = try connection.ancestors(of: windows[index].window) }
    }

    private func visibleCovers(_ isComposited: Bool) throws(XFailure) -> [Cover] {
        guard !windows.isEmpty else { return [] }
        let topLevels = try connection.topLevels()
        var opaque: [xcb_window_t: [PixelRect]] = [:]
        var covers: [Cover] = []
        for own in windows {
            guard let place = topLevels.firstIndex(where: { $0.window == own.ancestors.last ?? own.window }),
                let frame = try frame(of: own.window)
            else { continue }
            var visible = frame
            for ancestor in own.ancestors {
                guard let around = try self.frame(of: ancestor) else { continue }
                visible = visible.intersection(around)
            }
            var rects = visible.isEmpty ? [] : [visible]
            for above in topLevels[(place + 1)...] where above.frame.intersects(visible) {
                if opaque[above.window] == nil { opaque[above.window] = try opaqueParts(of: above, isComposited) }
                rects = rects.subtracting(opaque[above.window] ?? [])
            }
            if !rects.isEmpty { covers.append(Cover(frame: frame, visible: rects)) }
        }
        return covers
    }

    /// On the screen, with its border; nil: it is hidden or has gone.
    private func frame(of window: xcb_window_t) throws(XFailure) -> PixelRect? {
        let questions = (
            xcb_get_window_attributes(connection.raw, window).sequence,
            xcb_get_geometry(connection.raw, window).sequence
        )
        let attributes = try connection.replyIfGranted(questions.0, as: xcb_get_window_attributes_reply_t.self)
        let geometry = try connection.replyIfGranted(questions.1, as: xcb_get_geometry_reply_t.self)
        guard let attributes = attributes?.body, let geometry = geometry?.body,
            UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue,
            let place = try connection.place(of: window, in: connection.root)
        else { return nil }
        let border = Int(geometry.border_width)
        return PixelRect(
            x: place.x - border, y: place.y - border, width: Int(geometry.width) + 2 * border,
            height: Int(geometry.height) + 2 * border)
    }

    /// The parts of the screen in which nothing below `topLevel` can be seen.
    private func opaqueParts(of topLevel: TopLevel, _ isComposited: Bool) throws(XFailure) -> [PixelRect] {
        let shape =
            try connection.shape(of: topLevel.window)?
            .map { $0.moved(by: topLevel.frame.x + topLevel.border, topLevel.frame.y + topLevel.border) }
            ?? [topLevel.frame]
        guard isComposited else { return shape }
        let opacity = try connection.words(connection.askProperty(atoms.opacity, of: topLevel.window))
        if let opacity = opacity.first, opacity != .max { return [] }
        guard topLevel.depth == 32 else { return shape }
        guard let client = try connection.managedWindow(in: topLevel.window, atoms),
            let frame = try frame(of: client)
        else { return [] }
        if client != topLevel.window {
            // It may be gone by now.
            let geometry = try connection.replyIfGranted(
                xcb_get_geometry(connection.raw, client).sequence, as: xcb_get_geometry_reply_t.self)
            guard let geometry else { return [] }
            if geometry.body.depth != 32 { return [frame] }
        }
        let region = try connection.words(connection.askProperty(atoms.opaqueRegion, of: client))
        return stride(from: 0, to: region.count - 3, by: 4).map {
            PixelRect(
                x: Int(Int32(truncatingIfNeeded: region[$0])), y: Int(Int32(truncatingIfNeeded: region[$0 + 1])),
                width: Int(Int32(truncatingIfNeeded: region[$0 + 2])),
                height: Int(Int32(truncatingIfNeeded: region[$0 + 3]))
            ).moved(by: frame.x, frame.y).intersection(frame)
        }
    }
}
