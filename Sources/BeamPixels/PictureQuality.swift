import BeamMedia
import CBeamPixels
import CYUV
import Glibc

/// Measures the similarity of two pictures, plane by plane.
public enum PictureQuality {
    /// Peak signal-to-noise ratio of plane `plane` (0 is luma) in dB, with 255 as the peak; infinite for equal planes.
    ///
    /// Both buffers have the same format and size.
    public static func psnr(_ a: PixelBuffer, _ b: PixelBuffer, plane: Int = 0) -> Double {
        let size = commonPlaneSize(a, b, plane)
        let (a, b) = (a.planes[plane], b.planes[plane])
        let error = ComputeSumSquareErrorPlane(
            a.samples, Int32(a.stride), b.samples, Int32(b.stride), Int32(size.width), Int32(size.height))
        guard error > 0 else { return .infinity }
        return 10 * log10(255 * 255 * Double(size.area) / Double(error))
    }

    /// Mean structural similarity of plane `plane` (0 is luma); 1 for equal planes. Uniform windows of 8 × 8 samples, 4
    /// samples apart, with the constants of Wang, Bovik, Sheikh and Simoncelli (2004).
    ///
    /// Both buffers have the same format and size.
    public static func ssim(_ a: PixelBuffer, _ b: PixelBuffer, plane: Int = 0) -> Double {
        let size = commonPlaneSize(a, b, plane)
        return beam_structural_similarity(a.planes[plane].constant, b.planes[plane].constant, size.raw)
    }

    /// The sum of absolute differences of two 8-bit planes of `size` samples for each block of 16 × 16 samples, row by
    /// row. Blocks at the right and bottom edges may be smaller.
    public static func blockDifferences(_ a: Plane, _ b: Plane, _ size: PixelSize) -> [UInt32] {
        let count = ((size.width + 15) / 16) * ((size.height + 15) / 16)
        return [UInt32](unsafeUninitializedCapacity: count) { sums, initialized in
            if let base = sums.baseAddress { beam_block_differences(a.constant, b.constant, size.raw, base) }
            initialized = count
        }
    }

    /// The plane's size in bytes and rows; both pictures must agree.
    private static func commonPlaneSize(_ a: PixelBuffer, _ b: PixelBuffer, _ plane: Int) -> PixelSize {
        precondition(a.format == b.format && a.size == b.size && !PixelRect(a.size).isEmpty)
        let (rowBytes, rows) = a.format.plane(plane, of: a.size)
        return PixelSize(width: rowBytes, height: rows)
    }
}
