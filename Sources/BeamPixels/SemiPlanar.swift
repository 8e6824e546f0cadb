import BeamMedia
import CYUV

extension PixelConversion {
    /// Splits interleaved `chroma`, as in NV12 (Cb, Cr, Cb, Cr, …), into the chroma planes of `destination` (i420).
    /// `chroma` has ⌈height/2⌉ rows of ⌈width/2⌉ pairs.
    public static func separateChroma(_ chroma: Plane, into destination: PixelBuffer) {
        precondition(destination.format == .i420)
        let (columns, rows) = destination.format.plane(1, of: destination.size)
        let (u, v) = (destination.planes[1], destination.planes[2])
        SplitUVPlane(
            chroma.samples, Int32(chroma.stride), u.samples, Int32(u.stride), v.samples, Int32(v.stride),
            Int32(columns), Int32(rows))
    }
}
