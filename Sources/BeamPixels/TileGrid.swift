import BeamMedia
import CBeamPixels

/// A grid of marked tiles, row by row, and their combination into rectangles.
struct TileGrid {
    static let width = Int(BEAM_TILE_WIDTH)
    static let height = Int(BEAM_TILE_HEIGHT)
    /// With more rectangles than this, each row of tiles becomes one span from its first to its last marked tile,
    /// because merging them pairwise would take longer than drawing more pixels.
    private static let maxRectangles = 48

    private var tiles: UnsafeBufferPointer<UInt8>
    private var across: Int
    private var down: Int

    /// How many tiles cover a picture of `size`.
    static func count(in size: PixelSize) -> Int { across(size) * down(size) }

    private static func across(_ size: PixelSize) -> Int { (size.width + width - 1) / width }
    private static func down(_ size: PixelSize) -> Int { (size.height + height - 1) / height }

    /// The columns and rows of the tiles that touch `rect`, which lies inside a picture.
    static func touched(by rect: PixelRect) -> PixelRect {
        let (left, top) = (rect.x / width, rect.y / height)
        return PixelRect(
            x: left, y: top, width: (rect.maxX + width - 1) / width - left,
            height: (rect.maxY + height - 1) / height - top)
    }

    /// The area of the tiles of a picture of `size` that are nonzero, of which there are `marked`.
    static func damage(_ tiles: [UInt8], marked: Int, of size: PixelSize) -> DamageRegion {
        guard marked > 0 else { return DamageRegion() }
        // Converting and showing the whole picture at once is faster than half of it in many pieces.
        if marked * 2 >= tiles.count { return DamageRegion(PixelRect(size)) }
        let region = tiles.withUnsafeBufferPointer {
            TileGrid(tiles: $0, across: across(size), down: down(size)).region(size)
        }
        return region.area * 2 >= size.area ? DamageRegion(PixelRect(size)) : region
    }

    /// The marked tiles' area in a picture of `size`, in pixels.
    private func region(_ size: PixelSize) -> DamageRegion {
        var found = rectangles(.runs)
        if found.count > Self.maxRectangles { found = rectangles(.spans) }
        var region = DamageRegion()
        let bounds = PixelRect(size)
        for rect in found {
            let pixels = PixelRect(
                x: rect.x * Self.width, y: rect.y * Self.height, width: rect.width * Self.width,
                height: rect.height * Self.height)
            region.insert(pixels.intersection(bounds))
        }
        return region
    }

    private func rectangles(_ parts: MarkedTiles.Parts) -> [PixelRect] {
        MarkedTiles.rectangles(across: across, down: down, parts) { tiles[$0] != 0 }
    }
}
