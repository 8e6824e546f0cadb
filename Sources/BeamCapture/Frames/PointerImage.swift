import BeamMedia

/// An image of the pointer.
struct PointerImage {
    var size: PixelSize
    var hotspot: (x: Int, y: Int)
    /// BGRA from the lowest byte up; colours are premultiplied by alpha.
    var pixels: [UInt32]

    /// As viewers draw it; nil: it is too large for that.
    var look: PointerLook? {
        PointerLook(size: size, hotspot: PixelPoint(x: hotspot.x, y: hotspot.y), pixels: pixels)
    }

    /// The image on an output that is mounted by `turn`, as a person sees it.
    func upright(_ turn: OutputTurn) -> PointerImage {
        guard turn != .none else { return self }
        let newSize = turn.upright(size)
        var result = pixels
        for y in 0..<newSize.height {
            for x in 0..<newSize.width {
                let source = turn.raw(PixelRect(x: x, y: y, width: 1, height: 1), of: size)
                result[y * newSize.width + x] = pixels[source.y * size.width + source.x]
            }
        }
        let tip = turn.upright(PixelRect(x: hotspot.x, y: hotspot.y, width: 1, height: 1), of: size)
        return PointerImage(size: newSize, hotspot: (tip.x, tip.y), pixels: result)
    }

    /// - Parameter place: of the image, in the picture's coordinates; may extend beyond it.
    func draw(at place: PixelRect, into frame: Frame) {
        let visible = place.intersection(PixelRect(frame.size))
        guard !visible.isEmpty else { return }
        for y in visible.y..<visible.maxY {
            let row = (y - place.y) * size.width
            for x in visible.x..<visible.maxX {
                let source = pixels[row + x - place.x]
                guard source != 0 else { continue }
                let pixel = frame.pixel(x: x, y: y)
                pixel.storeBytes(of: Self.over(source, pixel.load(as: UInt32.self)), as: UInt32.self)
            }
        }
    }

    /// Porter and Duff's "over" for a premultiplied source, each channel rounded to nearest.
    static func over(_ source: UInt32, _ destination: UInt32) -> UInt32 {
        let rest = 255 - (source >> 24)
        if rest == 0 { return source }
        var result: UInt32 = 0
        for shift in stride(from: UInt32(0), through: 16, by: 8) {
            let behind = (destination >> shift & 0xff) * rest
            let sum = (source >> shift & 0xff) + (behind + 127) / 255
            result |= min(255, sum) << shift
        }
        return result
    }
}
