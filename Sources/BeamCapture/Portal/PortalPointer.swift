import BeamMedia
import CBeamPortal

/// The pointer as a stream's metadata tells it. Its image comes once, its place with each buffer. Both come unturned,
/// as the pictures do, and are turned upright here.
struct PortalPointer {
    /// Equal values look the same.
    struct Appearance: Equatable {
        /// In the part that is shown, upright; may extend beyond it.
        var frame: PixelRect
        /// Another image has another number.
        var image: UInt64
    }

    /// Upright.
    private(set) var image: PointerImage? {
        didSet { look = image?.look }
    }
    private var look: PointerLook?
    /// As it came.
    private var rawImage: PointerImage?
    private var turn = OutputTurn.none
    private var imageNumber: UInt64 = 0
    private var tip: (x: Int, y: Int)?

    /// To be called for each buffer, also for those that are skipped for a newer one.
    mutating func read(_ buffer: beam_buffer) {
        guard buffer.has_cursor != 0 else { return }
        guard buffer.cursor_id != 0 else {
            tip = nil
            return
        }
        tip = (Int(buffer.cursor_x), Int(buffer.cursor_y))
        guard buffer.has_cursor_image != 0 else { return }
        rawImage = Self.image(buffer)
        makeUpright()
    }

    /// How the output is mounted whose pictures come.
    mutating func setTurn(_ turn: OutputTurn) {
        guard turn != self.turn else { return }
        self.turn = turn
        makeUpright()
    }

    private mutating func makeUpright() {
        imageNumber += 1
        image = rawImage?.upright(turn)
    }

    /// - Parameter part: of the stream's picture that is shown. The pointer belongs to it if its tip does.
    func appearance(in part: PixelRect) -> Appearance? {
        guard let rawImage, let tip, part.contains(PixelRect(x: tip.x, y: tip.y, width: 1, height: 1)) else {
            return nil
        }
        let frame = PixelRect(
            x: tip.x - part.x - rawImage.hotspot.x, y: tip.y - part.y - rawImage.hotspot.y,
            width: rawImage.size.width, height: rawImage.size.height)
        return Appearance(frame: turn.upright(frame, of: part.size), image: imageNumber)
    }

    /// What viewers are told of the pointer whose image is at `frame`; nil: it is too large.
    func told(at frame: PixelRect, in size: PixelSize) -> ScreenPointer? {
        look.map { .shown($0, at: PixelPoint(x: frame.x + $0.hotspot.x, y: frame.y + $0.hotspot.y), in: size) }
    }

    private static func image(_ buffer: beam_buffer) -> PointerImage? {
        guard let pixels = buffer.cursor_pixels, let order = StreamState.Order(buffer.cursor_order) else { return nil }
        let size = PixelSize(width: Int(buffer.cursor_width), height: Int(buffer.cursor_height))
        let stride = Int(buffer.cursor_stride)
        var values: [UInt32] = []
        values.reserveCapacity(size.area)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let pixel = UnsafeRawPointer(pixels).loadUnaligned(fromByteOffset: y * stride + x * 4, as: UInt32.self)
                values.append(order == .bgrx ? pixel : pixel.swappingRedAndBlue)
            }
        }
        guard values.contains(where: { $0 != 0 }) else { return nil }
        // A hotspot lies in or beside the image; bounded, because it is added to places.
        let limit = PortalPointer.farthestHotspot
        return PointerImage(
            size: size,
            hotspot: (
                min(max(Int(buffer.hotspot_x), -limit), limit), min(max(Int(buffer.hotspot_y), -limit), limit)
            ), pixels: values)
    }

    private static let farthestHotspot = 4096
}

extension UInt32 {
    /// RGBX, read as a little-endian number, as BGRX; the fourth byte stays.
    var swappingRedAndBlue: UInt32 { self & 0xff00_ff00 | (self & 0xff) << 16 | self >> 16 & 0xff }
}
