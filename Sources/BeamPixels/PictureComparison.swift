import BeamMedia
import CBeamPixels

/// Finds what has changed in a captured picture since the one before, and copies that.
///
/// For sources that hand out whole pictures, changed or not, in memory that has to be returned at once. It keeps 32 bytes of
/// each tile, a keyed fingerprint, instead of the last picture: that halves the memory that is read. A change can be missed
/// with a probability of about 2⁻³² if it lies in a few columns of a tile, and of less if it is wider; one of a single pixel
/// isn't missed.
///
/// Reuses its memory, so keep one per stream of pictures, on one thread.
public struct PictureComparison {
    /// Of the last picture; nil: there is none.
    private var size: PixelSize?
    private var fingerprints: [UInt64] = []
    private var tiles: [UInt8] = []
    /// Secret, as otherwise what is shown could be made so that its changes are missed.
    private let keys: [UInt32]

    public init() {
        keys = (0..<Int(BEAM_KEYS)).map { _ in UInt32.random(in: 0x0100_0000...0xfeff_ffff) }
    }

    /// The next picture counts as wholly changed, like the first and one of another size.
    public mutating func reset() { size = nil }

    /// Rectangles that cover all pixels that differ from the picture of the last call, in tiles of 64 × 16 pixels. Empty if
    /// the pictures are equal. The fourth byte of a pixel doesn't count.
    ///
    /// - Parameters:
    ///   - picture: BGRX pixels of `size`. Its stride, as the copy's, is any number of bytes from the first pixel of a row to
    ///     that of the next, also negative. Read only during the call.
    ///   - hint: where the picture can have changed since the last call; nil: anywhere. What lies outside the picture is
    ///     ignored. Tiles that the hint doesn't touch aren't read.
    ///   - copy: BGRX pixels of `size`, to which the changed tiles are copied, each whole, and nothing else.
    public mutating func damage(
        of picture: Plane, size: PixelSize, within hint: DamageRegion? = nil, copyingTo copy: Plane? = nil
    ) -> DamageRegion {
        damage(of: picture, size: size, within: hint, copyingTo: copy, kernel: .best)
    }

    package mutating func damage(
        of picture: Plane, size: PixelSize, within hint: DamageRegion?, copyingTo copy: Plane?,
        kernel: PixelConversion.Kernel
    ) -> DamageRegion {
        let isKnown = size == self.size
        prepare(for: size, isKnown: isKnown)
        let whole = PixelRect(size)
        var marked = 0
        for rect in isKnown ? hint?.clipped(to: whole).rects ?? [whole] : [whole] {
            let area = TileGrid.touched(by: rect).raw
            func compare(_ output: UnsafePointer<beam_plane>?) -> CInt {
                beam_changed_pixels(
                    picture.constant, size.raw, area, keys, &fingerprints, output, &tiles, kernel.raw)
            }
            marked += Int(copy.map { withUnsafePointer(to: $0.raw, compare) } ?? compare(nil))
        }
        return TileGrid.damage(tiles, marked: marked, of: size)
    }

    /// Unmarks all tiles. A fingerprint of 0 is that of no picture.
    private mutating func prepare(for size: PixelSize, isKnown: Bool) {
        let count = TileGrid.count(in: size)
        if tiles.count == count, isKnown {
            tiles.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
        } else {
            tiles = [UInt8](repeating: 0, count: count)
            fingerprints = [UInt64](repeating: 0, count: count * Int(BEAM_SUMS))
        }
        self.size = size
    }
}
