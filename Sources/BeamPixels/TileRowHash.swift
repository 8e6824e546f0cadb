import BeamMedia
import CBeamPixels

/// Hashes of a picture's rows of tiles (`ExactTiles`), by which a viewer finds out whether it shows what the host's screen
/// shows. They find errors, and are no protection against anybody who makes pixels for a hash.
public enum TileRowHash {
    /// The pixels of a row of tiles: 16 rows of pixels, fewer at the lower edge.
    public static func pixels(of row: Int, in size: PixelSize) -> PixelRect {
        ExactTiles.pixels(of: PixelRect(x: 0, y: row, width: ExactTiles.across(size), height: 1), in: size)
    }

    /// The hash of a row of tiles of a bgrx picture. The fourth byte of a pixel doesn't count.
    public static func of(row: Int, in picture: PixelBuffer) -> UInt32 { of(row: row, in: picture, kernel: .best) }

    package static func of(row: Int, in picture: PixelBuffer, kernel: PixelConversion.Kernel) -> UInt32 {
        precondition(picture.format == .bgrx && row >= 0 && row < ExactTiles.down(picture.size))
        return beam_hash_pixels(
            picture.planes[0].constant, pixels(of: row, in: picture.size).raw, kernel.raw)
    }
}
