import BeamMedia
import BeamPixels
import CX264

/// Makes pictures that differ from the decoder's picture only in some macroblocks. Used by one thread.
final class PartialPictures {
    private let buffer: PixelBuffer

    /// For pictures of `format` (i420 of an even size, or i444).
    init(_ format: PixelFormat, _ size: PixelSize) {
        buffer = PixelBuffer(format: format, size: size)
    }

    /// `source` in the macroblocks marked as changed, and `shown`, libx264's reconstruction, elsewhere. `shown` is
    /// planar for 4:4:4, with interleaved chroma for 4:2:0. Valid until the next call.
    func picture(of source: PixelBuffer, where macroblocks: MacroblockMap, over shown: x264_image_t) -> PixelBuffer {
        let planes = [shown.plane.0, shown.plane.1, shown.plane.2]
        let strides = [shown.i_stride.0, shown.i_stride.1, shown.i_stride.2]
        let isInterleaved = buffer.format == .i420
        for index in 0..<(isInterleaved ? 1 : 3) {
            guard let base = planes[index] else { continue }
            copy(Plane(base: UnsafeMutableRawPointer(base), stride: Int(strides[index])), index, PixelRect(buffer.size))
        }
        if isInterleaved, let base = planes[1] {
            PixelConversion.separateChroma(
                Plane(base: UnsafeMutableRawPointer(base), stride: Int(strides[1])), into: buffer)
        }
        macroblocks.forEachChangedRun { rect in
            let inside = rect.intersection(PixelRect(buffer.size))
            for index in 0..<3 { copy(source.planes[index], index, inside) }
        }
        return buffer
    }

    /// Copies `rect`, in luma samples, of plane `index`.
    private func copy(_ from: Plane, _ index: Int, _ rect: PixelRect) {
        let isHalved = index > 0 && buffer.format == .i420
        let (x, width) = isHalved ? (rect.x / 2, (rect.width + 1) / 2) : (rect.x, rect.width)
        let rows = isHalved ? rect.y / 2..<(rect.maxY + 1) / 2 : rect.y..<rect.maxY
        let to = buffer.planes[index]
        for row in rows {
            (to.base + row * to.stride + x).copyMemory(from: from.base + row * from.stride + x, byteCount: width)
        }
    }
}
