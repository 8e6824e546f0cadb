import BeamMedia
import CXCB

/// Draws the pointer into pictures, because the server's screen image doesn't contain it.
final class PointerOverlay {
    /// The pointer's position and image in a picture. Equal values look the same.
    struct Appearance: Equatable {
        /// In the picture's coordinates; may extend beyond it.
        var frame: PixelRect
        /// Counts the pointer images received so far.
        var image: UInt64
    }

    private let connection: XConnection
    private let usesEvents: Bool
    private var image: PointerImage?
    /// Of `image`.
    private var look: PointerLook?
    private var imageNumber: UInt64 = 0
    private var isImageOutdated = true
    private var questions: (place: UInt32, image: UInt32?)?

    /// True if the server sends no motion events, so that the position has to be polled.
    var isPolled: Bool { !usesEvents }

    /// Needs XFIXES. - Parameter usesEvents: whether to use XInput 2 motion events, if the server has them.
    init(_ connection: XConnection, usesEvents: Bool) {
        self.connection = connection
        self.usesEvents = usesEvents && connection.extensions.input != nil
    }

    /// Turns the server's pointer events on or off. They are off while nobody watches.
    func setWatched(_ isWatched: Bool) {
        xcb_xfixes_select_cursor_input(
            connection.raw, connection.root, isWatched ? XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue : 0)
        isImageOutdated = true
        guard usesEvents else { return }
        // Raw motion events cover all devices and windows, but not programs that warp the pointer. Ordinary motion
        // events do, unless a window takes them first.
        let mask = XCB_INPUT_XI_EVENT_MASK_RAW_MOTION.rawValue | XCB_INPUT_XI_EVENT_MASK_MOTION.rawValue
        let header = xcb_input_event_mask_t(
            deviceid: xcb_input_device_id_t(XCB_INPUT_DEVICE_ALL_MASTER.rawValue), mask_len: 1)
        // The request's record: the header, then the mask words that it announces.
        withUnsafeBytes(of: (header, isWatched ? mask : 0)) { bytes in
            _ = xcb_input_xi_select_events(
                connection.raw, connection.root, 1,
                bytes.baseAddress?.assumingMemoryBound(to: xcb_input_event_mask_t.self))
        }
    }

    func imageChanged() { isImageOutdated = true }

    /// Sends the queries without waiting for the replies.
    func ask(_ target: CaptureTarget) {
        // The last queries were never answered for, because something failed before their replies were taken.
        if let questions {
            xcb_discard_reply(connection.raw, questions.place)
            if let image = questions.image {
                xcb_discard_reply(connection.raw, image)
                isImageOutdated = true
            }
        }
        questions = (
            xcb_query_pointer(connection.raw, target.pointerWindow).sequence,
            isImageOutdated ? xcb_xfixes_get_cursor_image(connection.raw).sequence : nil
        )
        isImageOutdated = false
    }

    /// The pointer's position and image in the picture; nil if its hotspot is outside.
    func answer(for target: CaptureTarget) throws(XFailure) -> Appearance? {
        guard let questions else { return nil }
        self.questions = nil
        if let sequence = questions.image { try takeImage(sequence) }
        let pointer = try connection.reply(questions.place, as: xcb_query_pointer_reply_t.self).body
        guard let image, pointer.same_screen != 0 else { return nil }
        var x = Int(pointer.win_x) - target.pointerOrigin.x
        var y = Int(pointer.win_y) - target.pointerOrigin.y
        // In a menu that was moved into the picture, the pointer belongs where it is in the menu.
        if let layer = target.layers.last(where: {
            $0.standing.contains(PixelRect(x: x, y: y, width: 1, height: 1))
        }) {
            x += layer.frame.x - layer.standing.x
            y += layer.frame.y - layer.standing.y
        }
        let frame = PixelRect(
            x: x - image.hotspot.x, y: y - image.hotspot.y, width: image.size.width, height: image.size.height)
        // The hotspot decides whether the pointer belongs to the captured window or monitor.
        let tip = PixelRect(x: x, y: y, width: 1, height: 1)
        guard PixelRect(target.size).contains(tip) else { return nil }
        return Appearance(frame: frame, image: imageNumber)
    }

    private func takeImage(_ sequence: UInt32) throws(XFailure) {
        imageNumber += 1
        (image, look) = (nil, nil)
        do throws(XFailure) {
            let reply = try connection.reply(sequence, as: xcb_xfixes_get_cursor_image_reply_t.self)
            let size = PixelSize(width: Int(reply.body.width), height: Int(reply.body.height))
            let pixels = UnsafeBufferPointer(
                start: xcb_xfixes_get_cursor_image_cursor_image(reply.pointer),
                count: Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply.pointer)))
            // All pixels transparent: this is how programs hide the pointer.
            guard size.area > 0, pixels.count >= size.area, pixels.contains(where: { $0 != 0 }) else { return }
            image = PointerImage(
                size: size, hotspot: (Int(reply.body.xhot), Int(reply.body.yhot)),
                pixels: Array(pixels.prefix(size.area)))
            look = image?.look
        } catch {
            // The server has no pointer image to show.
            guard case .refused = error else { throw error }
        }
    }

    /// What viewers are told, so that they draw it; nil: it is too large for that.
    func told(_ appearance: Appearance?, in size: PixelSize) -> ScreenPointer? {
        guard let appearance else { return .hidden }
        guard let look, appearance.image == imageNumber else { return nil }
        let tip = PixelPoint(x: appearance.frame.x + look.hotspot.x, y: appearance.frame.y + look.hotspot.y)
        return .shown(look, at: tip, in: size)
    }

    func draw(_ appearance: Appearance, into frame: Frame) {
        guard let image, appearance.image == imageNumber else { return }
        image.draw(at: appearance.frame, into: frame)
    }
}
