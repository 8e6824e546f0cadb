import BeamMedia
import CXCB

@testable import BeamCapture

/// Windows that belong to others.
extension X11Painter {
    /// Creates and shows a window that no window manager places, as menus and tooltips are.
    func popup(_ frame: PixelRect, _ colour: UInt32, border: Int = 0, owner: xcb_window_t? = nil) -> xcb_window_t {
        let window = hiddenWindow(frame, colour, border: border, isOverrideRedirect: true)
        if let owner { setWords("WM_TRANSIENT_FOR", XCB_ATOM_WINDOW.rawValue, [owner], of: window) }
        show(window)
        return window
    }

    /// Creates and shows a window that a window manager would place, as dialogs are.
    func dialog(_ frame: PixelRect, _ colour: UInt32, owner: xcb_window_t) -> xcb_window_t {
        let window = hiddenWindow(frame, colour, isOverrideRedirect: false)
        setWords("WM_TRANSIENT_FOR", XCB_ATOM_WINDOW.rawValue, [owner], of: window)
        show(window)
        return window
    }

    func hiddenWindow(
        _ frame: PixelRect, _ colour: UInt32, border: Int = 0, isOverrideRedirect: Bool
    ) -> xcb_window_t {
        let window = xcb_generate_id(raw)
        xcb_create_window(
            raw, UInt8(XCB_COPY_FROM_PARENT), window, root, Int16(frame.x), Int16(frame.y), UInt16(frame.width),
            UInt16(frame.height), UInt16(border), UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue,
            [colour, 0xff_ffff, isOverrideRedirect ? 1 : 0])
        return window
    }

    /// Shows a popup whose pixels have alpha: `argb`, by which its colours are multiplied already.
    func translucentPopup(_ frame: PixelRect, _ argb: UInt32) throws -> xcb_window_t {
        let window = xcb_generate_id(raw)
        let colours = xcb_generate_id(raw)
        guard let visual = visual(depth: 32) else { throw X11TestFailure("no visual with a depth of 32") }
        xcb_create_colormap(raw, UInt8(XCB_COLORMAP_ALLOC_NONE.rawValue), colours, root, visual)
        xcb_create_window(
            raw, 32, window, root, Int16(frame.x), Int16(frame.y), UInt16(frame.width), UInt16(frame.height), 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue
                | XCB_CW_COLORMAP.rawValue, [argb, 0, 1, colours])
        show(window)
        return window
    }

    private func visual(depth: UInt8) -> xcb_visualid_t? {
        var screen = screen
        var depths = xcb_screen_allowed_depths_iterator(&screen)
        // The iterator reads behind the screen's record, so it has to be the connection's own.
        depths = xcb_screen_allowed_depths_iterator(xcb_setup_roots_iterator(xcb_get_setup(raw)).data)
        while depths.rem > 0 {
            if depths.data.pointee.depth == depth {
                return xcb_depth_visuals_iterator(depths.data).data?.pointee.visual_id
            }
            xcb_depth_next(&depths)
        }
        return nil
    }

    func setWords(_ property: String, _ type: xcb_atom_t, _ words: [UInt32], of window: xcb_window_t) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom(property), type, 32, UInt32(words.count), words)
        synchronise()
    }

    func setText(_ property: String, _ text: String, of window: xcb_window_t) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom(property), XCB_ATOM_STRING.rawValue, 8,
            UInt32(text.utf8.count), text)
        synchronise()
    }

    /// Says that a compositing manager runs: this connection.
    func pretendToComposite() {
        let owner = hiddenWindow(PixelRect(x: 0, y: 0, width: 1, height: 1), 0, isOverrideRedirect: true)
        xcb_set_selection_owner(raw, owner, atom("_NET_WM_CM_S0"), UInt32(XCB_CURRENT_TIME))
        synchronise()
    }

    func raise(_ window: xcb_window_t) {
        xcb_configure_window(
            raw, window, UInt16(XCB_CONFIG_WINDOW_STACK_MODE.rawValue), [XCB_STACK_MODE_ABOVE.rawValue])
        synchronise()
    }

    func place(_ window: xcb_window_t, in parent: xcb_window_t, at x: Int, _ y: Int) {
        xcb_reparent_window(raw, window, parent, Int16(x), Int16(y))
        synchronise()
    }
}
