import BeamMedia
import CBeamPixels

extension PixelConversion {
    /// Separates `chroma`, interleaved as in NV12 (Cb, Cr, Cb, Cr, …), into the chroma planes of `destination` (i420), whose
    /// ⌈width/2⌉ pairs in each of ⌈height/2⌉ rows it holds.
    public static func separateChroma(_ chroma: Plane, into destination: PixelBuffer) {
        precondition(destination.format == .i420)
        let (columns, rows) = destination.format.plane(1, of: destination.size)
        beam_separate_chroma(
            chroma.constant, destination.planes[1].raw, destination.planes[2].raw,
            beam_size(width: Int32(columns), height: Int32(rows)))
    }
}
