import CXCB
import Foundation

/// An X server without a visible screen.
final class XServer: Sendable {
    static let isAvailable = Tool.exists("Xvfb")

    let process: ChildProcess
    /// As DISPLAY has it, for example `:7`.
    let display: String
    let width: Int
    let height: Int

    init(width: Int, height: Int, _ arguments: [String] = []) throws {
        // Once it accepts connections, the server writes the number of the free display that it found.
        let process = try ChildProcess(
            "Xvfb",
            ["-displayfd", "1", "-screen", "0", "\(width)x\(height)x24", "-nolisten", "tcp", "-noreset"] + arguments)
        let line = process.state.wait(timeout: 30) { state in
            state.output.first ?? (state.ending == nil ? nil : "")
        }
        guard let number = line.flatMap({ Int($0) }) else {
            process.end()
            throw HarnessError("Xvfb doesn't start: \(process.errorText)")
        }
        self.process = process
        self.width = width
        self.height = height
        display = ":\(number)"
    }

    func kill() { process.end() }

    deinit { process.end() }
}

/// A connection to an X server; only the thread that made it may use it.
final class XConnection {
    let raw: OpaquePointer
    let screen: xcb_screen_t

    init(_ display: String) throws {
        guard let raw = xcb_connect(display, nil) else { throw HarnessError("no memory for an X connection") }
        guard xcb_connection_has_error(raw) == 0, let screen = xcb_setup_roots_iterator(xcb_get_setup(raw)).data else {
            xcb_disconnect(raw)
            throw HarnessError("no X server answers at \(display)")
        }
        self.raw = raw
        self.screen = screen.pointee
    }

    deinit { xcb_disconnect(raw) }

    var isBroken: Bool { xcb_connection_has_error(raw) != 0 }

    /// Waits until the server has handled all earlier requests.
    func synchronise() {
        free(xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil))
    }

    func intern(_ name: String) -> xcb_atom_t {
        let reply = xcb_intern_atom_reply(raw, xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name), nil)
        defer { free(reply) }
        return reply?.pointee.atom ?? 0
    }

    /// The visible children of the root window with their sizes, the topmost last.
    func visibleWindows() -> [(id: xcb_window_t, x: Int, y: Int, width: Int, height: Int)] {
        guard let tree = xcb_query_tree_reply(raw, xcb_query_tree(raw, screen.root), nil) else { return [] }
        defer { free(tree) }
        let children = UnsafeBufferPointer(
            start: xcb_query_tree_children(tree), count: Int(xcb_query_tree_children_length(tree)))
        return children.compactMap { window in
            guard let attributes = xcb_get_window_attributes_reply(raw, xcb_get_window_attributes(raw, window), nil),
                let geometry = xcb_get_geometry_reply(raw, xcb_get_geometry(raw, window), nil)
            else { return nil }
            defer {
                free(attributes)
                free(geometry)
            }
            guard attributes.pointee.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue), geometry.pointee.width > 1
            else { return nil }
            return (
                window, Int(geometry.pointee.x), Int(geometry.pointee.y), Int(geometry.pointee.width),
                Int(geometry.pointee.height)
            )
        }
    }

    func title(of window: xcb_window_t) -> String {
        for (name, type) in [(intern("_NET_WM_NAME"), intern("UTF8_STRING")), (39, 31)] {
            let cookie = xcb_get_property(raw, 0, window, name, type, 0, 256)
            guard let reply = xcb_get_property_reply(raw, cookie, nil) else { continue }
            defer { free(reply) }
            let length = Int(xcb_get_property_value_length(reply))
            if length > 0, let value = xcb_get_property_value(reply) {
                return String(decoding: UnsafeRawBufferPointer(start: value, count: length), as: UTF8.self)
            }
        }
        return ""
    }

    func resize(_ window: xcb_window_t, width: Int, height: Int) {
        let values = [UInt32(width), UInt32(height)]
        xcb_configure_window(
            raw, window, UInt16(XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue), values)
        synchronise()
    }

    func movePointer(to x: Int, _ y: Int) {
        xcb_warp_pointer(raw, 0, screen.root, 0, 0, 0, 0, Int16(x), Int16(y))
        synchronise()
    }

    /// Asks the program to close its window, as a window manager does.
    func askToClose(_ window: xcb_window_t) {
        var event = xcb_client_message_event_t()
        event.response_type = UInt8(XCB_CLIENT_MESSAGE)
        event.format = 32
        event.window = window
        event.type = intern("WM_PROTOCOLS")
        event.data.data32.0 = intern("WM_DELETE_WINDOW")
        withUnsafeBytes(of: &event) { bytes in
            _ = xcb_send_event(raw, 0, window, 0, bytes.bindMemory(to: CChar.self).baseAddress)
        }
        synchronise()
    }
}
