import BeamMedia
import CXCB
import Foundation
import Testing

/// Draws on an X server, so that tests know what has to be captured. Used by one thread.
final class X11Painter {
    let raw: OpaquePointer
    let screen: xcb_screen_t
    private let context: xcb_gcontext_t

    var root: xcb_window_t { screen.root }
    var size: PixelSize { PixelSize(width: Int(screen.width_in_pixels), height: Int(screen.height_in_pixels)) }

    init(_ display: String) throws {
        guard let raw = xcb_connect(display, nil), xcb_connection_has_error(raw) == 0,
            let screen = xcb_setup_roots_iterator(xcb_get_setup(raw)).data
        else { throw X11TestFailure("no X server answers at \(display)") }
        self.raw = raw
        self.screen = screen.pointee
        context = xcb_generate_id(raw)
        // A graphics context of the root window also draws on children of the same depth; drawing on the root is
        // clipped by windows.
        xcb_create_gc(raw, context, screen.pointee.root, 0, nil)
        synchronise()
    }

    deinit { xcb_disconnect(raw) }

    /// Waits until the server has processed all requests.
    func synchronise() {
        free(xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil))
    }

    /// Fills rectangles in order, so that the last is on top.
    func fill(_ rects: [(PixelRect, UInt32)], in drawable: xcb_drawable_t? = nil) {
        for (rect, colour) in rects {
            xcb_change_gc(raw, context, XCB_GC_FOREGROUND.rawValue, [colour])
            let rectangle = xcb_rectangle_t(
                x: Int16(rect.x), y: Int16(rect.y), width: UInt16(rect.width), height: UInt16(rect.height))
            xcb_poly_fill_rectangle(raw, drawable ?? root, context, 1, [rectangle])
        }
        synchronise()
    }

    func fill(_ rect: PixelRect, _ colour: UInt32, in drawable: xcb_drawable_t? = nil) {
        fill([(rect, colour)], in: drawable)
    }

    /// Creates and shows a window of one colour.
    func window(_ frame: PixelRect, _ colour: UInt32, border: Int = 0) -> xcb_window_t {
        let window = xcb_generate_id(raw)
        xcb_create_window(
            raw, UInt8(XCB_COPY_FROM_PARENT), window, root, Int16(frame.x), Int16(frame.y), UInt16(frame.width),
            UInt16(frame.height), UInt16(border), UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue, [colour, 0xff_ffff])
        xcb_map_window(raw, window)
        synchronise()
        return window
    }

    func resize(_ window: xcb_window_t, to size: PixelSize) {
        xcb_configure_window(
            raw, window, UInt16(XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue),
            [UInt32(size.width), UInt32(size.height)])
        synchronise()
    }

    func move(_ window: xcb_window_t, to x: Int, _ y: Int) {
        xcb_configure_window(
            raw, window, UInt16(XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue), [UInt32(x), UInt32(y)])
        synchronise()
    }

    /// Receives the window's pointer motion events, so that its ancestors don't get them.
    func takePointerMotion(in window: xcb_window_t) {
        xcb_change_window_attributes(
            raw, window, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_POINTER_MOTION.rawValue])
        synchronise()
    }

    func show(_ window: xcb_window_t) {
        xcb_map_window(raw, window)
        synchronise()
    }

    func hide(_ window: xcb_window_t) {
        xcb_unmap_window(raw, window)
        synchronise()
    }

    func close(_ window: xcb_window_t) {
        xcb_destroy_window(raw, window)
        synchronise()
    }

    func reparent(_ window: xcb_window_t, into parent: xcb_window_t) {
        xcb_reparent_window(raw, window, parent, 0, 0)
        synchronise()
    }

    /// Sets `_NET_WM_STATE`, as window managers do.
    func setState(_ names: [String], of window: xcb_window_t) {
        let atoms = names.map { atom($0) }
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom("_NET_WM_STATE"), XCB_ATOM_ATOM.rawValue, 32,
            UInt32(atoms.count), atoms)
        synchronise()
    }

    /// Warps the pointer, as programs do.
    func warpPointer(to x: Int, _ y: Int) {
        xcb_warp_pointer(raw, 0, root, 0, 0, 0, 0, Int16(x), Int16(y))
        synchronise()
    }

    var pointerPlace: (x: Int, y: Int) {
        guard let reply = xcb_query_pointer_reply(raw, xcb_query_pointer(raw, root), nil) else { return (-1, -1) }
        defer { free(reply) }
        return (Int(reply.pointee.root_x), Int(reply.pointee.root_y))
    }

    /// An opaque black or white pointer of `size` × `size` pixels with its hotspot in the middle.
    func setPointer(size: Int, isWhite: Bool) {
        let bitmap = xcb_generate_id(raw)
        let drawing = xcb_generate_id(raw)
        xcb_create_pixmap(raw, 1, bitmap, root, UInt16(size), UInt16(size))
        xcb_create_gc(raw, drawing, bitmap, XCB_GC_FOREGROUND.rawValue, [1])
        xcb_poly_fill_rectangle(
            raw, bitmap, drawing, 1, [xcb_rectangle_t(x: 0, y: 0, width: UInt16(size), height: UInt16(size))])
        let cursor = xcb_generate_id(raw)
        let level: UInt16 = isWhite ? 0xffff : 0
        xcb_create_cursor(
            raw, cursor, bitmap, bitmap, level, level, level, level, level, level, UInt16(size / 2), UInt16(size / 2))
        xcb_change_window_attributes(raw, root, XCB_CW_CURSOR.rawValue, [cursor])
        xcb_free_cursor(raw, cursor)
        xcb_free_gc(raw, drawing)
        xcb_free_pixmap(raw, bitmap)
        synchronise()
    }

    /// Changes the screen's size, as `xrandr --fb` does. False if the server refuses.
    func setScreenSize(_ size: PixelSize) -> Bool {
        free(xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil))
        guard
            let resources = xcb_randr_get_screen_resources_reply(raw, xcb_randr_get_screen_resources(raw, root), nil),
            let output = xcb_randr_get_screen_resources_outputs(resources),
            let controller = xcb_randr_get_screen_resources_crtcs(resources)
        else { return false }
        defer { free(resources) }
        // The monitor has to be off meanwhile, so that it doesn't extend beyond the smaller screen.
        var info = xcb_randr_mode_info_t()
        info.width = UInt16(size.width)
        info.height = UInt16(size.height)
        let name = "test-\(size)"
        info.name_len = UInt16(name.utf8.count)
        let created = xcb_randr_create_mode_reply(
            raw, xcb_randr_create_mode(raw, root, info, UInt32(name.utf8.count), name), nil)
        guard let created else { return false }
        defer { free(created) }
        let mode = created.pointee.mode
        xcb_randr_add_output_mode(raw, output.pointee, mode)
        let off = xcb_randr_set_crtc_config(
            raw, controller.pointee, 0, 0, 0, 0, 0, UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue), 0, nil)
        free(xcb_randr_set_crtc_config_reply(raw, off, nil))
        let error = xcb_request_check(
            raw,
            xcb_randr_set_screen_size_checked(
                raw, root, UInt16(size.width), UInt16(size.height), UInt32(size.width), UInt32(size.height)))
        free(error)
        let on = xcb_randr_set_crtc_config(
            raw, controller.pointee, 0, 0, 0, 0, mode, UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue), 1, output)
        free(xcb_randr_set_crtc_config_reply(raw, on, nil))
        synchronise()
        return error == nil
    }

    /// Defines a monitor as a part of the screen, as `xrandr --setmonitor` does.
    func setMonitor(_ name: String, _ frame: PixelRect) {
        free(xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil))
        func pair(_ low: Int, _ high: Int) -> UInt32 { UInt32(low) | UInt32(high) << 16 }
        // libxcb 1.15 computes a wrong length for this request, which ends the connection. So it is built here: a
        // header word for libxcb, the window, then the monitor's name, flags, outputs, position, size and millimetres.
        var words: [UInt32] = [
            0, root, atom(name), 0, pair(frame.x, frame.y), pair(frame.width, frame.height), 100, 100,
        ]
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
        xcb_randr_delete_monitor(raw, root, atom(name))
        synchronise()
    }

    /// Sets a property of 32-bit values.
    func set(_ property: String, _ words: [UInt32], of window: xcb_window_t) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom(property), XCB_ATOM_CARDINAL.rawValue, 32,
            UInt32(words.count), words)
        synchronise()
    }

    /// Sets the server's resources, as xrdb does.
    func setResources(_ text: String) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), root, XCB_ATOM_RESOURCE_MANAGER.rawValue,
            XCB_ATOM_STRING.rawValue, 8, UInt32(text.utf8.count), text)
        synchronise()
    }

    /// What the screen shows.
    func screenshot() -> X11Canvas {
        let cookie = xcb_get_image(
            raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), root, 0, 0, UInt16(size.width), UInt16(size.height), ~0)
        guard let reply = xcb_get_image_reply(raw, cookie, nil), let data = xcb_get_image_data(reply) else {
            return X11Canvas(size)
        }
        defer { free(reply) }
        let bytes = UnsafeRawBufferPointer(start: data, count: Int(xcb_get_image_data_length(reply)))
        return X11Canvas(size, pixels: bytes.bindMemory(to: UInt32.self).map { $0 & 0xff_ffff })
    }

    func atom(_ name: String) -> xcb_atom_t {
        let reply = xcb_intern_atom_reply(raw, xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name), nil)
        defer { free(reply) }
        return reply?.pointee.atom ?? 0
    }
}

/// The expected content of a picture.
struct X11Canvas: Equatable, CustomTestStringConvertible {
    let size: PixelSize
    /// Red, green and blue in the lower 24 bits, row by row.
    private(set) var pixels: [UInt32]

    /// A failed test should not print every pixel.
    var testDescription: String { "picture of \(size)" }

    init(_ size: PixelSize, _ colour: UInt32 = 0) {
        self.size = size
        pixels = Array(repeating: colour, count: size.area)
    }

    /// Row by row.
    init(_ size: PixelSize, pixels: [UInt32]) {
        self.size = size
        self.pixels = pixels
    }

    /// A picture's pixels, without the unused byte.
    init(_ picture: Picture) {
        size = picture.size
        let plane = picture.buffer.planes[0]
        let width = size.width
        pixels = []
        pixels.reserveCapacity(size.area)
        for y in 0..<size.height {
            let row = UnsafeRawBufferPointer(start: plane.base + y * plane.stride, count: width * 4)
            pixels.append(contentsOf: row.bindMemory(to: UInt32.self).lazy.map { $0 & 0xff_ffff })
        }
    }

    subscript(x: Int, y: Int) -> UInt32 { pixels[y * size.width + x] }

    mutating func fill(_ rect: PixelRect, _ colour: UInt32) {
        let rect = rect.intersection(PixelRect(size))
        for y in rect.y..<rect.maxY {
            for x in rect.x..<rect.maxX { pixels[y * size.width + x] = colour }
        }
    }

    func filled(_ rect: PixelRect, _ colour: UInt32) -> X11Canvas {
        var canvas = self
        canvas.fill(rect, colour)
        return canvas
    }

    func cut(_ rect: PixelRect) -> X11Canvas {
        var part = X11Canvas(rect.size)
        for y in 0..<rect.height {
            for x in 0..<rect.width { part.pixels[y * rect.width + x] = self[rect.x + x, rect.y + y] }
        }
        return part
    }

    /// The smallest rectangle that contains every differing pixel; nil if there is none.
    func difference(_ other: X11Canvas) -> PixelRect? {
        guard size == other.size else { return PixelRect(size) }
        var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for index in pixels.indices where pixels[index] != other.pixels[index] {
            rect = rect.union(PixelRect(x: index % size.width, y: index / size.width, width: 1, height: 1))
        }
        return rect.isEmpty ? nil : rect
    }
}
