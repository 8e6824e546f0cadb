import BeamMedia

/// How an output is mounted: wl_output.transform, which PipeWire's streams tell, too. A frame of it comes as the display gets
/// it, and is turned upright here.
///
/// *Raw* is the frame, *upright* what a person sees.
struct OutputTurn: Equatable, Sendable {
    static let none = OutputTurn(quarters: 0, isMirrored: false)

    /// Quarter turns, 0…3.
    private let quarters: Int
    /// Left and right are exchanged, before it is turned.
    private let isMirrored: Bool

    private init(quarters: Int, isMirrored: Bool) {
        self.quarters = quarters
        self.isMirrored = isMirrored
    }

    /// Of a value of the protocol: 0…3 are quarter turns, 4…7 the same mirrored. Others count as 0.
    init(transform: Int32) {
        let value = (0...7).contains(transform) ? Int(transform) : 0
        self.init(quarters: value % 4, isMirrored: value >= 4)
    }

    private var isSideways: Bool { quarters % 2 == 1 }

    func upright(_ raw: PixelSize) -> PixelSize {
        isSideways ? PixelSize(width: raw.height, height: raw.width) : raw
    }

    /// Where the upright picture shows `rect` of a raw picture of size `raw`.
    func upright(_ rect: PixelRect, of raw: PixelSize) -> PixelRect {
        var turned =
            switch quarters {
            case 1: PixelRect(x: raw.height - rect.maxY, y: rect.x, width: rect.height, height: rect.width)
            case 2:
                PixelRect(x: raw.width - rect.maxX, y: raw.height - rect.maxY, width: rect.width, height: rect.height)
            case 3: PixelRect(x: rect.y, y: raw.width - rect.maxX, width: rect.height, height: rect.width)
            default: rect
            }
        if isMirrored { turned.x = upright(raw).width - turned.maxX }
        return turned
    }

    /// Where the raw picture, whose size is `raw`, has `rect` of the upright one.
    func raw(_ rect: PixelRect, of raw: PixelSize) -> PixelRect {
        let size = upright(raw)
        var rect = rect
        if isMirrored { rect.x = size.width - rect.maxX }
        return switch quarters {
        case 1: PixelRect(x: rect.y, y: size.width - rect.maxX, width: rect.height, height: rect.width)
        case 2: PixelRect(x: size.width - rect.maxX, y: size.height - rect.maxY, width: rect.width, height: rect.height)
        case 3: PixelRect(x: size.height - rect.maxY, y: rect.x, width: rect.height, height: rect.width)
        default: rect
        }
    }

    /// Where the pixels of an upright picture are in the memory of the raw one: its first pixel, and how many bytes further
    /// the next one to the right and the next one below are.
    func walk(_ plane: Plane, _ raw: PixelSize) -> (first: UnsafeRawPointer, right: Int, down: Int) {
        func offset(_ x: Int, _ y: Int) -> Int {
            let pixel = self.raw(PixelRect(x: x, y: y, width: 1, height: 1), of: raw)
            return pixel.y * plane.stride + 4 * pixel.x
        }
        let first = offset(0, 0)
        return (UnsafeRawPointer(plane.base + first), offset(1, 0) - first, offset(0, 1) - first)
    }
}
