import BeamMedia
import Glibc

/// Finds the differences between two captured pictures, and keeps a copy of the newer one.
struct PictureComparison {
    private static let tile = PixelSize(width: 64, height: 16)

    /// Rectangles that cover all pixels that differ between `older` and `newer`, in tiles of 64 × 16 pixels, each of which is
    /// copied to `copy`.
    mutating func damage(of newer: Plane, from older: Plane, size: PixelSize, copyingTo copy: Plane) -> DamageRegion {
        var damage = DamageRegion()
        for top in stride(from: 0, to: size.height, by: Self.tile.height) {
            let rows = top..<min(top + Self.tile.height, size.height)
            var run: PixelRect?
            for left in stride(from: 0, to: size.width, by: Self.tile.width) {
                let width = min(Self.tile.width, size.width - left)
                let differs = rows.contains { row in
                    memcmp(
                        newer.base + row * newer.stride + left * 4, older.base + row * older.stride + left * 4,
                        width * 4)
                        != 0
                }
                guard differs else {
                    if let run { damage.insert(run) }
                    run = nil
                    continue
                }
                for row in rows {
                    memcpy(
                        copy.base + row * copy.stride + left * 4, newer.base + row * newer.stride + left * 4, width * 4)
                }
                let rect = PixelRect(x: left, y: top, width: width, height: rows.count)
                run = run?.union(rect) ?? rect
            }
            if let run { damage.insert(run) }
        }
        return damage
    }
}
