import CXCB
import Foundation

extension XConnection {
    /// Creates and shows a plain window of one colour.
    ///
    /// - Parameters:
    ///   - isPopup: no window manager places it, as with menus.
    ///   - owner: the window that it belongs to.
    func show(
        _ title: String, program: String = "test", x: Int, y: Int, width: Int, height: Int, colour: UInt32,
        isPopup: Bool = false, owner: xcb_window_t? = nil
    ) -> xcb_window_t {
        let window = xcb_generate_id(raw)
        xcb_create_window(
            raw, UInt8(XCB_COPY_FROM_PARENT), window, screen.root, Int16(x), Int16(y), UInt16(width), UInt16(height), 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue, [colour, isPopup ? 1 : 0])
        func set(_ property: xcb_atom_t, _ type: xcb_atom_t, _ text: String) {
            xcb_change_property(
                raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, property, type, 8, UInt32(text.utf8.count), text)
        }
        set(intern("_NET_WM_NAME"), intern("UTF8_STRING"), title)
        set(XCB_ATOM_WM_CLASS.rawValue, XCB_ATOM_STRING.rawValue, "\(program)\0\(program)\0")
        if let owner {
            xcb_change_property(
                raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, XCB_ATOM_WM_TRANSIENT_FOR.rawValue,
                XCB_ATOM_WINDOW.rawValue, 32, 1, [owner])
        }
        xcb_map_window(raw, window)
        synchronise()
        return window
    }

    func hasProperty(_ property: xcb_atom_t, _ window: xcb_window_t) -> Bool {
        let cookie = xcb_get_property(raw, 0, window, property, 0, 0, 1)
        guard let reply = xcb_get_property_reply(raw, cookie, nil) else { return false }
        defer { free(reply) }
        return reply.pointee.type != 0
    }

    func close(_ window: xcb_window_t) {
        xcb_destroy_window(raw, window)
        synchronise()
    }

    /// Defines a monitor as a part of the screen, as `xrandr --setmonitor` does.
    func setMonitor(_ name: String, x: Int, y: Int, width: Int, height: Int) {
        free(xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil))
        func pair(_ low: Int, _ high: Int) -> UInt32 { UInt32(low) | UInt32(high) << 16 }
        // libxcb 1.15 computes a wrong length for this request, which ends the connection. So it is built here: a
        // header word for libxcb, the window, then the monitor's name, flags, outputs, position, size and millimetres.
        var words: [UInt32] = [0, screen.root, intern(name), 0, pair(x, y), pair(width, height), 100, 100]
        var request = xcb_protocol_request_t()
        request.count = 1
        request.ext = beam_xcb_randr()
        request.opcode = UInt8(XCB_RANDR_SET_MONITOR)
        request.isvoid = 1
        words.withUnsafeMutableBytes { bytes in
            // libxcb uses the two entries before the first.
            var parts = [iovec(), iovec(), iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)]
            parts.withUnsafeMutableBufferPointer { parts in
                guard let first = parts.baseAddress else { return }
                _ = xcb_send_request(raw, 0, first + 2, &request)
            }
        }
        synchronise()
    }

    func deleteMonitor(_ name: String) {
        xcb_randr_delete_monitor(raw, screen.root, intern(name))
        synchronise()
    }

    /// Makes the server report a change of the screen, which Xvfb doesn't for monitors.
    func touchScreen() {
        let resources = xcb_randr_get_screen_resources_reply(
            raw, xcb_randr_get_screen_resources(raw, screen.root), nil)
        defer { free(resources) }
        guard let resources, let controller = xcb_randr_get_screen_resources_crtcs(resources),
            let info = xcb_randr_get_crtc_info_reply(
                raw, xcb_randr_get_crtc_info(raw, controller.pointee, resources.pointee.config_timestamp), nil)
        else { return }
        defer { free(info) }
        let (mode, output) = (info.pointee.mode, xcb_randr_get_crtc_info_outputs(info))
        let rotation = UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue)
        for (mode, count) in [(0, UInt32(0)), (mode, 1)] {
            let cookie = xcb_randr_set_crtc_config(
                raw, controller.pointee, 0, 0, 0, 0, mode, rotation, count, count == 0 ? nil : output)
            free(xcb_randr_set_crtc_config_reply(raw, cookie, nil))
        }
        synchronise()
    }
}
