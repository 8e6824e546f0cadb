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

    /// Interleaves the chroma planes of `source` (i420) as in NV12: the opposite.
    public static func interleaveChroma(_ source: PixelBuffer, into chroma: Plane) {
        precondition(source.format == .i420)
        let (columns, rows) = source.format.plane(1, of: source.size)
        let (u, v) = (source.planes[1], source.planes[2])
        MergeUVPlane(
            u.samples, Int32(u.stride), v.samples, Int32(v.stride), chroma.samples, Int32(chroma.stride),
            Int32(columns), Int32(rows))
    }

    /// Packs `source` (i420) as Y, Cb, Y, Cr, with the chroma of each row of 4:2:0 in two rows. `packed` has ⌈width/2⌉ × 4
    /// bytes a row.
    public static func toYUYV(_ source: PixelBuffer, into packed: Plane) {
        precondition(source.format == .i420)
        let (y, u, v) = (source.planes[0], source.planes[1], source.planes[2])
        I420ToYUY2(
            y.samples, Int32(y.stride), u.samples, Int32(u.stride), v.samples, Int32(v.stride), packed.samples,
            Int32(packed.stride), Int32(source.size.width), Int32(source.size.height))
    }
}
