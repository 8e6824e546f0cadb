import BeamClock
import BeamMedia
import CXCB
import Glibc

/// Lets a person choose with the pointer what is shared: a click takes a window, a drag a region. Escape and the right
/// button cancel. The window below the pointer, or the region so far, is framed meanwhile.
final class AreaSelector {
    /// A shorter drag is a click.
    private static let smallestDrag = 5
    private static let thickness = 3
    /// Light blue: seen on dark and on bright ground.
    private static let colour: UInt32 = 0x3a_9b_ff
    /// Another program may have the pointer for a moment, such as the menu that has started this one.
    private static let grabPatience = Duration.seconds(2)
    private static let interval = Duration.milliseconds(100)
    private static let escape: xcb_keysym_t = 0xff1b
    /// In the cursor font, where each cursor is followed by its mask.
    private static let crosshair: UInt16 = 34

    private let connection: XConnection
    private let atoms: WindowAtoms
    /// Above, below, left and right of the framed rectangle.
    private var bars: [xcb_window_t] = []
    private var framed: PixelRect?

    private enum Outcome {
        case area(X11Options.Area)
        case cancelled
    }

    init(_ connection: XConnection) throws(XFailure) {
        self.connection = connection
        atoms = try WindowAtoms(connection)
    }

    /// Waits for the person; at the latest until `isWanted` answers no.
    func select(while isWanted: () -> Bool) throws(CaptureError) -> X11Options.Area {
        try grab(while: isWanted)
        defer {
            xcb_ungrab_pointer(connection.raw, UInt32(XCB_CURRENT_TIME))
            xcb_ungrab_keyboard(connection.raw, UInt32(XCB_CURRENT_TIME))
            for bar in bars { xcb_destroy_window(connection.raw, bar) }
            connection.flush()
        }
        let outcome = try connection.orEnd { () throws(XFailure) in
            let outcome = try follow(while: isWanted)
            // The frame must not be in the first picture.
            unframe()
            _ = try connection.screenSize()
            return outcome
        }
        guard case .area(let area) = outcome else { throw .nothingSelected }
        return area
    }

    private func grab(while isWanted: () -> Bool) throws(CaptureError) {
        let font = connection.makeID()
        let cursor = connection.makeID()
        xcb_open_font(connection.raw, font, 6, "cursor")
        xcb_create_glyph_cursor(
            connection.raw, cursor, font, font, Self.crosshair, Self.crosshair + 1, 0, 0, 0, .max, .max, .max)
        xcb_close_font(connection.raw, font)
        defer { xcb_free_cursor(connection.raw, cursor) }
        let events =
            XCB_EVENT_MASK_BUTTON_PRESS.rawValue | XCB_EVENT_MASK_BUTTON_RELEASE.rawValue
            | XCB_EVENT_MASK_POINTER_MOTION.rawValue
        let begin = MediaTime.now
        while true {
            let isGrabbed = try connection.orEnd { () throws(XFailure) in
                let mode = UInt8(XCB_GRAB_MODE_ASYNC.rawValue)
                let pointer = xcb_grab_pointer(
                    connection.raw, 0, connection.root, UInt16(truncatingIfNeeded: events), mode, mode, 0, cursor,
                    UInt32(XCB_CURRENT_TIME)
                ).sequence
                let keyboard = xcb_grab_keyboard(
                    connection.raw, 0, connection.root, UInt32(XCB_CURRENT_TIME), mode, mode
                ).sequence
                let hasPointer = try connection.reply(pointer, as: xcb_grab_pointer_reply_t.self).body.status
                let hasKeyboard = try connection.reply(keyboard, as: xcb_grab_keyboard_reply_t.self).body.status
                let success = UInt8(XCB_GRAB_STATUS_SUCCESS.rawValue)
                return hasPointer == success && hasKeyboard == success
            }
            if isGrabbed { return }
            xcb_ungrab_pointer(connection.raw, UInt32(XCB_CURRENT_TIME))
            xcb_ungrab_keyboard(connection.raw, UInt32(XCB_CURRENT_TIME))
            connection.flush()
            guard isWanted() else { throw .nothingSelected }
            guard MediaTime.now - begin < Self.grabPatience else { throw .pointerTaken(display: connection.name) }
            connection.control.wait(server: nil, until: .now + Self.interval)
        }
    }

    private func follow(while isWanted: () -> Bool) throws(XFailure) -> Outcome {
        let escapes = try keycodes(of: Self.escape)
        var start: (x: Int, y: Int)?
        let pointer = try connection.reply(
            xcb_query_pointer(connection.raw, connection.root).sequence, as: xcb_query_pointer_reply_t.self
        ).body
        try frameWindow(at: (Int(pointer.root_x), Int(pointer.root_y)))
        while isWanted() {
            guard let event = xcb_poll_for_event(connection.raw) else {
                if connection.isBroken { throw .connectionLost }
                connection.flush()
                connection.control.wait(server: connection.descriptor, until: .now + Self.interval)
                continue
            }
            defer { free(event) }
            switch Int32(event.pointee.response_type & 0x7f) {
            case XCB_KEY_PRESS:
                let key = event.withMemoryRebound(to: xcb_key_press_event_t.self, capacity: 1) { $0.pointee.detail }
                if escapes.contains(key) { return .cancelled }
            case XCB_BUTTON_PRESS:
                let (place, button) = Self.place(event)
                if button == 3 { return .cancelled }
                if button == 1 { start = place }
            case XCB_MOTION_NOTIFY:
                let (place, _) = Self.place(event)
                if let start {
                    if let drag = Self.drag(from: start, to: place) { frame(drag) } else { unframe() }
                } else {
                    try frameWindow(at: place)
                }
            case XCB_BUTTON_RELEASE:
                let (place, button) = Self.place(event)
                guard button == 1, let begun = start else { continue }
                if let drag = Self.drag(from: begun, to: place) {
                    return .area(.region(drag.intersection(PixelRect(try connection.screenSize()))))
                }
                guard let (window, _) = try window(at: place) else { return .area(.screen) }
                return .area(.window(try connection.managedWindow(in: window, atoms) ?? window))
            default: break
            }
        }
        return .cancelled
    }

    /// Of a button's or the pointer's event.
    private static func place(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> ((x: Int, y: Int), button: UInt8) {
        // The pointer's events have the same layout.
        let body = event.withMemoryRebound(to: xcb_button_press_event_t.self, capacity: 1) { $0.pointee }
        return ((Int(body.root_x), Int(body.root_y)), body.detail)
    }

    /// The rectangle between two corners, both included; nil: that is a click.
    static func drag(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) -> PixelRect? {
        let (width, height) = (abs(end.x - start.x), abs(end.y - start.y))
        guard min(width, height) >= smallestDrag else { return nil }
        return PixelRect(x: min(start.x, end.x), y: min(start.y, end.y), width: width + 1, height: height + 1)
    }

    /// The topmost visible child of the root there, and its place; nil: the desktop.
    private func window(at place: (x: Int, y: Int)) throws(XFailure) -> (xcb_window_t, PixelRect)? {
        let point = PixelRect(x: place.x, y: place.y, width: 1, height: 1)
        let found = try connection.topLevels().last { $0.frame.contains(point) && !bars.contains($0.window) }
        return found.map { ($0.window, $0.frame) }
    }

    private func frameWindow(at place: (x: Int, y: Int)) throws(XFailure) {
        if let (_, rect) = try window(at: place) {
            frame(rect)
        } else {
            frame(PixelRect(try connection.screenSize()))
        }
    }

    // MARK: The frame

    private func frame(_ rect: PixelRect) {
        guard rect != framed else { return }
        framed = rect
        let width = Self.thickness
        let sides = [
            PixelRect(x: rect.x, y: rect.y, width: rect.width, height: width),
            PixelRect(x: rect.x, y: rect.maxY - width, width: rect.width, height: width),
            PixelRect(x: rect.x, y: rect.y, width: width, height: rect.height),
            PixelRect(x: rect.maxX - width, y: rect.y, width: width, height: rect.height),
        ]
        let values = XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue
        if bars.isEmpty {
            bars = sides.map { _ in connection.makeID() }
            for bar in bars {
                xcb_create_window(
                    connection.raw, UInt8(XCB_COPY_FROM_PARENT), bar, connection.root, 0, 0, 1, 1, 0,
                    UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), connection.screen.root_visual, values,
                    [Self.colour, 1])
            }
        }
        let mask =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue | XCB_CONFIG_WINDOW_STACK_MODE.rawValue
        for (bar, side) in zip(bars, sides) {
            xcb_configure_window(
                connection.raw, bar, UInt16(truncatingIfNeeded: mask),
                [
                    UInt32(bitPattern: Int32(clamping: side.x)), UInt32(bitPattern: Int32(clamping: side.y)),
                    UInt32(clamping: max(1, side.width)), UInt32(clamping: max(1, side.height)),
                    XCB_STACK_MODE_ABOVE.rawValue,
                ])
            xcb_map_window(connection.raw, bar)
        }
        connection.flush()
    }

    private func unframe() {
        framed = nil
        for bar in bars { xcb_unmap_window(connection.raw, bar) }
        connection.flush()
    }

    private func keycodes(of symbol: xcb_keysym_t) throws(XFailure) -> Set<xcb_keycode_t> {
        let setup = xcb_get_setup(connection.raw).pointee
        let count = setup.max_keycode - setup.min_keycode + 1
        let reply = try connection.reply(
            xcb_get_keyboard_mapping(connection.raw, setup.min_keycode, count).sequence,
            as: xcb_get_keyboard_mapping_reply_t.self)
        let width = Int(reply.body.keysyms_per_keycode)
        let symbols = UnsafeBufferPointer(
            start: xcb_get_keyboard_mapping_keysyms(reply.pointer),
            count: Int(xcb_get_keyboard_mapping_keysyms_length(reply.pointer)))
        guard width > 0 else { return [] }
        return Set(symbols.indices.filter { symbols[$0] == symbol }.map { setup.min_keycode + UInt8($0 / width) })
    }
}

extension X11Source {
    /// Lets the person choose on a display (nil: the environment's) what is shared, with the pointer. Waits for that; at the
    /// latest until `isWanted`, which is asked ten times a second, answers no.
    ///
    /// - Throws: `nothingSelected` if the person has cancelled it.
    public static func select(
        display: String? = nil, while isWanted: () -> Bool
    ) throws(CaptureError) -> X11Options.Area {
        try withoutBrokenPipeSignal { () throws(CaptureError) in
            let connection = try XConnection(display: display, control: makeControl())
            let selector = try connection.orEnd { () throws(XFailure) in try AreaSelector(connection) }
            return try selector.select(while: isWanted)
        }
    }
}
