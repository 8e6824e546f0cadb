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
        var found = rectangles { runs(in: $0) }
        if found.count > Self.maxRectangles { found = rectangles { span(of: $0) } }
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

    /// Combines vertically adjacent runs of the same columns into one rectangle.
    private func rectangles(_ parts: (_ row: Int) -> [Range<Int>]) -> [PixelRect] {
        var closed: [PixelRect] = []
        var open: [PixelRect] = []
        for row in 0..<down {
            var next: [PixelRect] = []
            for part in parts(row) {
                if let index = open.firstIndex(where: { $0.x == part.lowerBound && $0.width == part.count }) {
                    var rect = open.remove(at: index)
                    rect.height += 1
                    next.append(rect)
                } else {
                    next.append(PixelRect(x: part.lowerBound, y: row, width: part.count, height: 1))
                }
            }
            closed += open
            open = next
        }
        return closed + open
    }

    private func runs(in row: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var start: Int?
        for column in 0..<across {
            if tiles[row * across + column] != 0 {
                start = start ?? column
            } else if let begin = start {
                runs.append(begin..<column)
                start = nil
            }
        }
        if let start { runs.append(start..<across) }
        return runs
    }

    private func span(of row: Int) -> [Range<Int>] {
        let runs = runs(in: row)
        guard let first = runs.first, let last = runs.last else { return [] }
        return [first.lowerBound..<last.upperBound]
    }
}
