import BeamMedia

/// Pads pictures of odd size to even ones, which 4:2:0 requires. Used by one thread.
final class EvenPictures {
    private let size: PixelSize
    private let coded: PixelSize
    private let pool = PixelBufferPool()

    init(_ size: PixelSize) {
        self.size = size
        coded = size.codedSize
    }

    /// `source`, an i420 picture of the given size, if that is even; else a copy with the last column and row repeated,
    /// so that the coded edge looks like its neighbour. The chroma planes have the even size already.
    func even(_ source: PixelBuffer) -> PixelBuffer {
        guard size != coded else { return source }
        let copy = pool.buffer(format: .i420, size: coded)
        for index in 0..<3 {
            let (rowBytes, rows) = source.format.plane(index, of: size)
            let (from, to) = (source.planes[index], copy.planes[index])
            for row in 0..<rows {
                (to.base + row * to.stride).copyMemory(from: from.base + row * from.stride, byteCount: rowBytes)
            }
        }
        let luma = copy.planes[0]
        if size.width < coded.width {
            for row in 0..<size.height {
                let last = luma.base + row * luma.stride + size.width - 1
                (last + 1).storeBytes(of: last.load(as: UInt8.self), as: UInt8.self)
            }
        }
        if size.height < coded.height {
            let last = luma.base + (size.height - 1) * luma.stride
            (last + luma.stride).copyMemory(from: last, byteCount: coded.width)
        }
        return copy
    }
}

extension PixelSize {
    /// The size that 4:2:0 codes: the next even one.
    var codedSize: PixelSize { PixelSize(width: (width + 1) & ~1, height: (height + 1) & ~1) }
}
