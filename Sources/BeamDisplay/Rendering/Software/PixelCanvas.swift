import BeamMedia

/// Borrowed bgrx memory to draw into, valid during one call.
struct PixelCanvas {
    let base: UnsafeMutableRawPointer
    /// Bytes from one row to the next.
    let stride: Int
    let size: PixelSize

    func address(_ x: Int, _ y: Int) -> UnsafeMutableRawPointer { base + y * stride + x * 4 }

    /// Fills `rect`, clipped to the canvas.
    func fill(_ rect: PixelRect, _ colour: (red: UInt8, green: UInt8, blue: UInt8)) {
        let rect = rect.intersection(PixelRect(size))
        guard !rect.isEmpty else { return }
        let pixel = 0xff00_0000 | UInt32(colour.red) << 16 | UInt32(colour.green) << 8 | UInt32(colour.blue)
        for y in rect.y..<rect.maxY {
            address(rect.x, y).assumingMemoryBound(to: UInt32.self).update(repeating: pixel, count: rect.width)
        }
    }

    func fill(around hole: PixelRect, _ colour: (red: UInt8, green: UInt8, blue: UInt8)) {
        let hole = hole.intersection(PixelRect(size))
        fill(PixelRect(x: 0, y: 0, width: size.width, height: hole.y), colour)
        fill(PixelRect(x: 0, y: hole.maxY, width: size.width, height: size.height - hole.maxY), colour)
        fill(PixelRect(x: 0, y: hole.y, width: hole.x, height: hole.height), colour)
        fill(PixelRect(x: hole.maxX, y: hole.y, width: size.width - hole.maxX, height: hole.height), colour)
    }
}
