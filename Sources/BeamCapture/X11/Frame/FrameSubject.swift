import BeamMedia
import CXCB
import Glibc

/// What a frame stands around.
protocol FrameSubject: AnyObject {
    /// The frame's bars go directly above this window; nil: above all windows.
    var sibling: xcb_window_t? { get }
    /// Where the bars are to be now; none if what is shared can't be seen.
    func bars(thickness: Int) throws(XFailure) -> [PixelRect]
    /// Whether they may be elsewhere after this event. To be called for each event.
    func isMoved(by event: XEvent) throws(XFailure) -> Bool
    /// Whether what is shared has ended with this event.
    func hasEnded(with event: XEvent) -> Bool
}

/// A region of the screen.
final class FramedRegion: FrameSubject {
    private let connection: XConnection
    private let region: PixelRect
    let sibling: xcb_window_t? = nil

    init(_ connection: XConnection, _ region: PixelRect) {
        self.connection = connection
        self.region = region
    }

    func bars(thickness: Int) throws(XFailure) -> [PixelRect] {
        FrameShape.outside(region, thickness: thickness, screen: PixelRect(try connection.screenSize()))
    }

    /// The screen's size has changed.
    func isMoved(by event: XEvent) -> Bool {
        if case .configured(connection.root) = event { true } else { false }
    }

    func hasEnded(with event: XEvent) -> Bool { false }
}

/// A window: the frame follows it, and is hidden with it.
final class FramedWindow: FrameSubject {
    private let connection: XConnection
    private let window: xcb_window_t
    /// Other windows over this one aren't in its picture.
    private let isApart: Bool
    private let visibility: WindowVisibility
    private let desktop: xcb_atom_t
    private let currentDesktop: xcb_atom_t
    private let margins: xcb_atom_t
    /// From the nearest to the child of the root.
    private var ancestors: [xcb_window_t]

    var sibling: xcb_window_t? { ancestors.last ?? window }

    /// Nil: it is one of BeamRoom's own. Fails with BadWindow if it has gone. The caller has selected the root's events.
    init?(_ connection: XConnection, _ window: xcb_window_t, isApart: Bool) throws(XFailure) {
        self.connection = connection
        self.window = window
        self.isApart = isApart
        let atoms = try connection.atoms([
            "_NET_WM_DESKTOP", "_NET_CURRENT_DESKTOP", "_GTK_FRAME_EXTENTS", OwnWindows.markName,
        ])
        (desktop, currentDesktop, margins) = (atoms[0], atoms[1], atoms[2])
        // Before the state is read, so that no change is missed.
        let mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        try connection.check(
            xcb_change_window_attributes_checked(connection.raw, window, XCB_CW_EVENT_MASK.rawValue, [mask]))
        visibility = try WindowVisibility(connection, window)
        ancestors = try connection.ancestors(of: window)
        if try !connection.words(connection.askProperty(atoms[3], of: window)).isEmpty { return nil }
    }

    func hasEnded(with event: XEvent) -> Bool { if case .destroyed(window) = event { true } else { false } }

    func isMoved(by event: XEvent) throws(XFailure) -> Bool {
        try visibility.update(after: event)
        switch event {
        case .reparented(let other) where isPart(other):
            ancestors = try connection.ancestors(of: window)
            return true
        case .configured(let other): return other == connection.root || isPart(other)
        case .shown(let other), .hidden(let other): return isPart(other)
        // The state that says whether it is minimised, the workspace, and the margins.
        case .propertyChanged(window, _): return true
        case .propertyChanged(connection.root, currentDesktop): return true
        default: return false
        }
    }

    private func isPart(_ other: xcb_window_t) -> Bool { other == window || ancestors.contains(other) }

    func bars(thickness: Int) throws(XFailure) -> [PixelRect] {
        guard visibility.isVisible, try isOnCurrentDesktop(),
            let place = try connection.place(of: window, in: connection.root)
        else { return [] }
        let geometry = try connection.geometry(of: window)
        let whole = PixelRect(x: place.x, y: place.y, width: Int(geometry.width), height: Int(geometry.height))
        let screen = PixelRect(try connection.screenSize())
        guard isApart else { return FrameShape.outside(whole, thickness: thickness, screen: screen) }
        let rect = try withoutMargins(whole)
        return FrameShape.around(rect, thickness: thickness, room: try room(of: rect) ?? screen)
    }

    /// The monitors that show a part of the window: at the edge of a maximised one, the frame isn't on the next monitor.
    private func room(of rect: PixelRect) throws(XFailure) -> PixelRect? {
        let touched = try connection.monitors().map(\.frame).filter { $0.intersects(rect) }
        guard let first = touched.first else { return nil }
        return touched.reduce(first) { $0.union($1) }
    }

    /// A program that draws its own shadow says how wide it is, in the order left, right, top, bottom.
    private func withoutMargins(_ rect: PixelRect) throws(XFailure) -> PixelRect {
        let words = try connection.words(connection.askProperty(margins, of: window)).map { Int($0) }
        guard words.count == 4, words.allSatisfy({ $0 < 1 << 15 }), words[0] + words[1] < rect.width,
            words[2] + words[3] < rect.height
        else { return rect }
        return PixelRect(
            x: rect.x + words[0], y: rect.y + words[2], width: rect.width - words[0] - words[1],
            height: rect.height - words[2] - words[3])
    }

    /// Some window managers leave windows of other workspaces mapped.
    private func isOnCurrentDesktop() throws(XFailure) -> Bool {
        let own = connection.askProperty(desktop, of: window)
        let current = connection.askProperty(currentDesktop, of: connection.root)
        let (place, shown) = (try connection.words(own).first, try connection.words(current).first)
        guard let place, let shown else { return true }
        // All bits: on each of them (EWMH, _NET_WM_DESKTOP).
        return place == shown || place == .max
    }
}

extension XConnection {
    /// How much larger than at 96 dpi the desktop draws, 1…4: `Xft.dpi` among the server's resources, or else GDK_SCALE,
    /// as for BeamRoom's own windows.
    func desktopScale() throws(XFailure) -> Double {
        let bytes = try bytes(askProperty(XCB_ATOM_RESOURCE_MANAGER.rawValue, of: root, longest: 1 << 14))
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].allSatisfy({ !$0.isWhitespace }), parts[0] == "Xft.dpi" else { continue }
            let value = parts[1].filter { !$0.isWhitespace }
            if let dots = Double(value), dots.isFinite { return min(max(dots / 96, 1), 4) }
        }
        let factor = getenv("GDK_SCALE").flatMap { Double(String(cString: $0)) } ?? 1
        return factor.isFinite ? min(max(factor, 1), 4) : 1
    }
}
