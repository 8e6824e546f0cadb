import BeamMedia
import CXCB
import Glibc

/// The screen, one of its monitors, or a region of it.
final class ScreenArea: CaptureArea {
    private enum Part {
        case whole
        /// Kept by name, because numbers change when monitors are rearranged.
        case monitor(String)
        case region(PixelRect)
    }

    private let connection: XConnection
    private let part: Part
    private let layout: PixelLayout

    private let own: OwnWindows
    var ownWindows: OwnWindows? { own }

    let warnings: [String] = []
    var damageWindow: xcb_window_t { connection.root }

    /// `.window` is the root window here, the whole screen; others belong to `WindowArea`.
    init(_ connection: XConnection, _ area: X11Options.Area) throws(CaptureError) {
        self.connection = connection
        layout = try PixelLayout(connection, visual: connection.screen.root_visual)
        // Select events before reading the state, so that no change is missed.
        own = try connection.orEnd { () throws(XFailure) in try OwnWindows(connection) }
        if connection.extensions.randr != nil {
            let changes: [xcb_randr_notify_mask_t] = [
                XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE, XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE,
                XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE,
            ]
            xcb_randr_select_input(
                connection.raw, connection.root, changes.reduce(0) { $0 | UInt16(truncatingIfNeeded: $1.rawValue) })
        }
        switch area {
        case .screen, .window, .windowNamed:
            part = .whole
        case .monitor(let wanted):
            let monitors = try connection.orEnd { () throws(XFailure) in try connection.monitors() }
            guard
                let monitor = monitors.first(where: { $0.name == wanted })
                    ?? Int(wanted).flatMap({ number in monitors.first { $0.number == number } })
            else { throw .noSuchMonitor(wanted, available: monitors.map(\.description)) }
            part = .monitor(monitor.name)
        case .region(let region):
            let screen = try connection.orEnd { () throws(XFailure) in try connection.screenSize() }
            guard !region.isEmpty, PixelRect(screen).contains(region) else {
                throw .regionOffScreen(region, screen: screen)
            }
            part = .region(region)
        }
    }

    var description: String {
        switch part {
        case .whole: "the whole screen"
        case .monitor(let name): "monitor \(name)"
        case .region(let region): "region \(region)"
        }
    }

    func isMoved(by event: XEvent) throws(AreaFailure) -> Bool {
        let isCovered = own.isMoved(by: event)
        return switch event {
        case .screenChanged: true
        case .configured(let window): window == connection.root || isCovered
        default: isCovered
        }
    }

    func resolve() throws(AreaFailure) -> CaptureTarget {
        let screen: PixelSize
        let monitors: [Monitor]
        let covers: [Cover]
        do throws(XFailure) {
            covers = try own.covers()
            screen = try connection.screenSize()
            monitors = if case .monitor = part { try connection.monitors() } else { [] }
        } catch {
            throw .x(error)
        }
        let frame: PixelRect
        switch part {
        case .whole:
            frame = PixelRect(screen)
        case .monitor(let name):
            guard let monitor = monitors.first(where: { $0.name == name }) else {
                throw .absent(.monitorOff, .monitorGone(name))
            }
            // While monitors are rearranged, one may extend beyond the screen for a moment.
            frame = monitor.frame.intersection(PixelRect(screen))
            if frame.isEmpty { throw .absent(.monitorOff, .monitorGone(name)) }
        case .region(let region):
            // If the screen has shrunk, only a part of the region may be left.
            frame = region.intersection(PixelRect(screen))
            if frame.isEmpty { throw .absent(.regionOutside, .regionOffScreen(region, screen: screen)) }
        }
        var target = CaptureTarget(
            drawable: connection.root, origin: (frame.x, frame.y), size: frame.size, readable: PixelRect(frame.size),
            damageOrigin: (frame.x, frame.y), pointerWindow: connection.root, pointerOrigin: (frame.x, frame.y),
            layout: layout)
        target.covers = covers.map { $0.moved(by: -frame.x, -frame.y) }
            .filter { $0.visible.contains { $0.intersects(PixelRect(frame.size)) } }
        return target
    }
}

extension XConnection {
    /// The monitors in the server's order; empty if the server has no XRandR 1.5.
    func monitors() throws(XFailure) -> [Monitor] {
        guard extensions.randr != nil else { return [] }
        // 0 includes monitors that a person has defined as a part of the screen (xrandr --setmonitor).
        let reply = try reply(
            xcb_randr_get_monitors(raw, root, 0).sequence, as: xcb_randr_get_monitors_reply_t.self)
        var entries: [(monitor: Monitor, name: UInt32)] = []
        var monitors = xcb_randr_get_monitors_monitors_iterator(reply.pointer)
        while monitors.rem > 0 {
            let info = monitors.data.pointee
            xcb_randr_monitor_info_next(&monitors)
            // Switched off.
            guard info.width > 0, info.height > 0 else { continue }
            let monitor = Monitor(
                number: entries.count, name: "",
                frame: PixelRect(x: Int(info.x), y: Int(info.y), width: Int(info.width), height: Int(info.height)),
                isPrimary: info.primary != 0)
            entries.append((monitor, xcb_get_atom_name(raw, info.name).sequence))
        }
        var named: [Monitor] = []
        for (entry, sequence) in entries {
            let reply = try self.reply(sequence, as: xcb_get_atom_name_reply_t.self)
            let bytes = UnsafeRawBufferPointer(
                start: xcb_get_atom_name_name(reply.pointer), count: Int(xcb_get_atom_name_name_length(reply.pointer)))
            var monitor = entry
            monitor.name = String(decoding: bytes, as: UTF8.self)
            named.append(monitor)
        }
        return named
    }
}
