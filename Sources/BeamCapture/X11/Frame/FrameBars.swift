import BeamMedia
import CXCB

/// The windows of which the frame is made: a thin one for each side, so that no window lies over what is shared. They
/// take neither clicks nor the focus. Closed with the connection.
final class FrameBars {
    struct Style: Equatable {
        /// In pixels.
        var thickness = 1
        var isPaused = false
    }

    /// The accent colour of BeamRoom's own windows.
    static let colour: UInt32 = 0x5c_9e_fa
    static let pausedColour: UInt32 = 0x8a_90_98

    private struct Bar {
        let window: xcb_window_t
        /// Nil: it isn't shown.
        var rect: PixelRect?
        /// What is set, also while it isn't shown.
        var place: PixelRect?
    }

    private let connection: XConnection
    private let look: FrameLook
    private var bars: [Bar] = []
    private var style: Style?

    init(_ connection: XConnection) throws(XFailure) {
        self.connection = connection
        look = FrameLook(connection)
        let atoms = try connection.atoms([
            "_NET_WM_WINDOW_TYPE", "_NET_WM_WINDOW_TYPE_DND", "_COMPTON_SHADOW", "_GTK_FRAME_EXTENTS",
        ])
        let nothing = connection.makeID()
        xcb_xfixes_create_region(connection.raw, nothing, 0, nil)
        for _ in 0..<4 {
            let window = look.makeWindow(Self.colour)
            // Each of these tells some compositing managers to draw no shadow, which would darken what is shared.
            set(atoms[0], XCB_ATOM_ATOM, [atoms[1]], of: window)
            set(atoms[2], XCB_ATOM_CARDINAL, [0], of: window)
            set(atoms[3], XCB_ATOM_CARDINAL, [0, 0, 0, 0], of: window)
            shape(window, XCB_SHAPE_SK_INPUT, nothing)
            bars.append(Bar(window: window))
        }
        xcb_xfixes_destroy_region(connection.raw, nothing)
    }

    func contains(_ window: xcb_window_t) -> Bool { bars.contains { $0.window == window } }

    var shown: [(window: xcb_window_t, rect: PixelRect)] {
        bars.compactMap { bar in bar.rect.map { (bar.window, $0) } }
    }

    /// Shows four bars at most; none hides the frame. True if one appears that wasn't shown before.
    func show(_ rects: [PixelRect], _ style: Style) -> Bool {
        let isNewStyle = self.style != style
        var hasNew = false
        self.style = style
        for index in bars.indices {
            guard index < rects.count else {
                if bars[index].rect != nil { xcb_unmap_window(connection.raw, bars[index].window) }
                bars[index].rect = nil
                continue
            }
            if isNewStyle || bars[index].place != rects[index] { place(bars[index].window, at: rects[index], style) }
            bars[index].place = rects[index]
            if bars[index].rect == nil {
                xcb_map_window(connection.raw, bars[index].window)
                hasNew = true
            }
            bars[index].rect = rects[index]
        }
        return hasNew
    }

    /// Puts the bars directly above `sibling`, or above all windows.
    func raise(above sibling: xcb_window_t?) {
        for (window, _) in shown {
            var mask = XCB_CONFIG_WINDOW_STACK_MODE.rawValue
            if sibling != nil { mask |= XCB_CONFIG_WINDOW_SIBLING.rawValue }
            xcb_configure_window(
                connection.raw, window, UInt16(truncatingIfNeeded: mask),
                (sibling.map { [$0] } ?? []) + [XCB_STACK_MODE_ABOVE.rawValue])
        }
    }

    private func place(_ window: xcb_window_t, at rect: PixelRect, _ style: Style) {
        let mask =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        xcb_configure_window(
            connection.raw, window, UInt16(truncatingIfNeeded: mask),
            [
                UInt32(bitPattern: Int32(clamping: rect.x)), UInt32(bitPattern: Int32(clamping: rect.y)),
                UInt32(clamping: rect.width), UInt32(clamping: rect.height),
            ])
        look.paint(window, style.isPaused ? Self.pausedColour : Self.colour)
        guard style.isPaused else { return shape(window, XCB_SHAPE_SK_BOUNDING, xcb_xfixes_region_t(XCB_NONE)) }
        let dashes = FrameShape.dashes(of: rect, thickness: style.thickness).map {
            xcb_rectangle_t(
                x: Int16(clamping: $0.x), y: Int16(clamping: $0.y), width: UInt16(clamping: $0.width),
                height: UInt16(clamping: $0.height))
        }
        let region = connection.makeID()
        xcb_xfixes_create_region(connection.raw, region, UInt32(dashes.count), dashes)
        shape(window, XCB_SHAPE_SK_BOUNDING, region)
        xcb_xfixes_destroy_region(connection.raw, region)
    }

    private func shape(_ window: xcb_window_t, _ kind: xcb_shape_sk_t, _ region: xcb_xfixes_region_t) {
        xcb_xfixes_set_window_shape_region(
            connection.raw, window, xcb_shape_kind_t(truncatingIfNeeded: kind.rawValue), 0, 0, region)
    }

    private func set(_ property: xcb_atom_t, _ type: xcb_atom_enum_t, _ words: [UInt32], of window: xcb_window_t) {
        xcb_change_property(
            connection.raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, property, type.rawValue, 32,
            UInt32(words.count), words)
    }
}

/// The visual of the frame's windows: one with an alpha channel if there is one, because most compositing managers draw
/// no shadows around such windows. Without a compositing manager alpha means nothing.
private struct FrameLook {
    private let connection: XConnection
    private let depth: UInt8
    private let visual: xcb_visualid_t
    private let colours: xcb_colormap_t
    /// The alpha channel of an opaque pixel.
    private let opaque: UInt32

    init(_ connection: XConnection) {
        self.connection = connection
        if let visual = connection.visualWithAlpha {
            (depth, self.visual, opaque) = (32, visual, 0xff00_0000)
            colours = connection.makeID()
            xcb_create_colormap(
                connection.raw, UInt8(XCB_COLORMAP_ALLOC_NONE.rawValue), colours, connection.root, visual)
        } else {
            let screen = connection.screen
            (depth, visual, opaque) = (screen.root_depth, screen.root_visual, 0)
            colours = screen.default_colormap
        }
    }

    func makeWindow(_ colour: UInt32) -> xcb_window_t {
        let window = connection.makeID()
        let values =
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue
            | XCB_CW_COLORMAP.rawValue
        xcb_create_window(
            connection.raw, depth, window, connection.root, 0, 0, 1, 1, 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), visual, values, [colour | opaque, 0, 1, colours])
        return window
    }

    func paint(_ window: xcb_window_t, _ colour: UInt32) {
        xcb_change_window_attributes(connection.raw, window, XCB_CW_BACK_PIXEL.rawValue, [colour | opaque])
        xcb_clear_area(connection.raw, 0, window, 0, 0, 0, 0)
    }
}

extension XConnection {
    /// A visual of 8 bits each for red, green, blue and alpha; nil: there is none.
    fileprivate var visualWithAlpha: xcb_visualid_t? {
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        while screens.rem > 0, screens.data.pointee.root != root { xcb_screen_next(&screens) }
        guard screens.rem > 0 else { return nil }
        var depths = xcb_screen_allowed_depths_iterator(screens.data)
        while depths.rem > 0 {
            var visuals = xcb_depth_visuals_iterator(depths.data)
            while depths.data.pointee.depth == 32, visuals.rem > 0 {
                let visual = visuals.data.pointee
                if UInt32(visual._class) == XCB_VISUAL_CLASS_TRUE_COLOR.rawValue,
                    (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xff_0000, 0xff00, 0xff)
                {
                    return visual.visual_id
                }
                xcb_visualtype_next(&visuals)
            }
            xcb_depth_next(&depths)
        }
        return nil
    }
}
