import BeamMedia
import CBeamPixels

/// Finds the differences between two pictures.
///
/// Reads all samples of equal parts and few of different ones: about 0.2 ms for an unchanged 1080p picture, almost
/// nothing if everything has changed. Reuses its memory, so keep one per stream of pictures, on one thread.
public struct PictureChange {
    private var tiles: [UInt8] = []

    public init() {}

    /// Rectangles that cover all samples that differ between `older` and `newer` (i420 or i444, same format and size),
    /// in tiles of 64 × 16 pixels. Empty if the pictures are equal.
    public mutating func damage(from older: PixelBuffer, to newer: PixelBuffer) -> DamageRegion {
        damage(from: older, to: newer, kernel: .best)
    }

    package mutating func damage(
        from older: PixelBuffer, to newer: PixelBuffer, kernel: PixelConversion.Kernel
    ) -> DamageRegion {
        precondition(older.format == newer.format && older.size == newer.size && newer.format != .bgrx)
        let size = newer.size
        let across = (size.width + TileGrid.width - 1) / TileGrid.width
        let down = (size.height + TileGrid.height - 1) / TileGrid.height
        if tiles.count != across * down { tiles = [UInt8](repeating: 0, count: across * down) }
        let (a, b) = (older.planes.map(\.constant), newer.planes.map(\.constant))
        let changed = Int(
            beam_changed_tiles(
                a, b, size.raw, newer.format == .i420 ? 1 : 0, &tiles, kernel.raw))
        guard changed > 0 else { return DamageRegion() }
        // Converting and showing the whole picture at once is faster than half of it in many pieces.
        if changed * 2 >= tiles.count { return DamageRegion(PixelRect(size)) }
        let region = tiles.withUnsafeBufferPointer { TileGrid(tiles: $0, across: across, down: down).region(size) }
        return region.area * 2 >= size.area ? DamageRegion(PixelRect(size)) : region
    }
}

/// A grid of marked tiles, row by row, and their combination into rectangles.
struct TileGrid {
    static let width = Int(BEAM_TILE_WIDTH)
    static let height = Int(BEAM_TILE_HEIGHT)
    /// With more rectangles than this, each row of tiles becomes one span from its first to its last marked tile,
    /// because merging them pairwise would take longer than drawing more pixels.
    private static let maxRectangles = 48

    var tiles: UnsafeBufferPointer<UInt8>
    var across: Int
    var down: Int

    /// The marked tiles' area in a picture of `size`, in pixels.
    func region(_ size: PixelSize) -> DamageRegion {
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
