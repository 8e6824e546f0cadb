import BeamMedia
import CYUV

extension PixelConversion {
    /// Separates `chroma`, interleaved as in NV12 (Cb, Cr, Cb, Cr, …), into the chroma planes of `destination` (i420), whose
    /// ⌈width/2⌉ pairs in each of ⌈height/2⌉ rows it holds.
    public static func separateChroma(_ chroma: Plane, into destination: PixelBuffer) {
        precondition(destination.format == .i420)
        let (columns, rows) = destination.format.plane(1, of: destination.size)
        let (u, v) = (destination.planes[1], destination.planes[2])
        SplitUVPlane(
            chroma.samples, Int32(chroma.stride), u.samples, Int32(u.stride), v.samples, Int32(v.stride),
            Int32(columns), Int32(rows))
    }
}
