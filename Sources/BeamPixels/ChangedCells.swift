import BeamMedia
import CBeamPixels

/// Which cells of a part of a picture are marked. A cell is a row of 16 pixels whose first column is a multiple of 16, so a
/// tile (`ExactTiles`) has one cell in each of its rows.
public struct ChangedCells: Sendable {
    /// Whole tiles, as far as they are in the picture, in pixels.
    public let bounds: PixelRect
    /// The picture's size.
    private let size: PixelSize
    private let across: Int
    private let words: Int
    /// A bit for each cell, each row in whole words.
    private var bits: [UInt64]

    /// No cell of the tiles that `part` touches is marked; `part` lies inside the picture.
    init(_ part: PixelRect, in size: PixelSize) {
        let tiles = ExactTiles.touched(by: part)
        bounds = ExactTiles.pixels(of: tiles, in: size)
        self.size = size
        across = tiles.width
        words = (tiles.width + 63) / 64
        bits = [UInt64](repeating: 0, count: words * bounds.height)
    }

    /// How many cells are marked.
    public var count: Int { bits.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// Marks the cells of `part` whose pixels differ from those of an earlier picture.
    mutating func compare(
        _ picture: PixelBuffer, with before: PixelBuffer, in part: PixelRect, movedBy motion: beam_motion,
        kernel: PixelConversion.Kernel
    ) {
        let part = part.intersection(bounds)
        guard !part.isEmpty else { return }
        bits.withUnsafeMutableBufferPointer { bits in
            _ = beam_changed_cells(
                picture.planes[0].constant, before.planes[0].constant, part.raw, motion,
                bits.baseAddress?.advanced(by: (part.y - bounds.y) * words), CInt(words),
                CInt(bounds.x / ExactTiles.side), kernel.raw)
        }
    }

    /// Marks all cells that `part` touches.
    public mutating func mark(_ part: PixelRect) {
        let part = part.intersection(bounds)
        guard !part.isEmpty else { return }
        let tiles = ExactTiles.touched(by: part)
        let (first, last) = (tiles.x - bounds.x / ExactTiles.side, tiles.maxX - bounds.x / ExactTiles.side)
        for word in first / 64..<(last + 63) / 64 {
            let mask = Self.mask(first - word * 64, last - word * 64)
            for row in part.y - bounds.y..<part.maxY - bounds.y { bits[row * words + word] |= mask }
        }
    }

    /// The bits from `first` to before `last`, as far as a word has them.
    private static func mask(_ first: Int, _ last: Int) -> UInt64 {
        let upper = last >= 64 ? UInt64.max : last <= 0 ? 0 : (1 << UInt64(last)) - 1
        let lower = first <= 0 ? 0 : first >= 64 ? UInt64.max : (1 << UInt64(first)) - 1
        return upper & ~lower
    }

    /// The cells that are marked here and not there; both have the same bounds.
    func subtracting(_ other: ChangedCells) -> ChangedCells {
        var rest = self
        for index in bits.indices { rest.bits[index] &= ~other.bits[index] }
        return rest
    }

    /// Inside of `part` (whole cells) what `other` has, outside what is marked here.
    func replacing(_ part: PixelRect, by other: ChangedCells) -> ChangedCells {
        var result = self
        let part = part.intersection(bounds)
        guard !part.isEmpty else { return self }
        let tiles = ExactTiles.touched(by: part)
        let (first, last) = (tiles.x - bounds.x / ExactTiles.side, tiles.maxX - bounds.x / ExactTiles.side)
        for word in first / 64..<(last + 63) / 64 {
            let mask = Self.mask(first - word * 64, last - word * 64)
            for row in part.y - bounds.y..<part.maxY - bounds.y {
                let index = row * words + word
                result.bits[index] = bits[index] & ~mask | other.bits[index] & mask
            }
        }
        return result
    }

    /// The smallest rectangle of whole cells around all that is marked, in pixels; empty if nothing is.
    var extent: PixelRect {
        var columns = [UInt64](repeating: 0, count: words)
        var (top, bottom) = (Int.max, 0)
        for row in 0..<bounds.height {
            var isAny = false
            for word in 0..<words where bits[row * words + word] != 0 {
                columns[word] |= bits[row * words + word]
                isAny = true
            }
            if isAny { (top, bottom) = (min(top, row), row + 1) }
        }
        guard let low = columns.firstIndex(where: { $0 != 0 }), let high = columns.lastIndex(where: { $0 != 0 }) else {
            return PixelRect(x: bounds.x, y: bounds.y, width: 0, height: 0)
        }
        let left = low * 64 + columns[low].trailingZeroBitCount
        let right = high * 64 + 64 - columns[high].leadingZeroBitCount
        return pixels(left..<right, top..<bottom)
    }

    private func pixels(_ columns: Range<Int>, _ rows: Range<Int>) -> PixelRect {
        PixelRect(
            x: bounds.x + columns.lowerBound * ExactTiles.side, y: bounds.y + rows.lowerBound,
            width: columns.count * ExactTiles.side, height: rows.count
        ).intersection(bounds)
    }

    /// Calls `body` with each tile of which a cell is marked, as a rectangle of pixels, and whether all its cells are.
    public func forEachTile(_ body: (_ tile: PixelRect, _ isWhole: Bool) -> Void) {
        for top in stride(from: 0, to: bounds.height, by: ExactTiles.side) {
            let bottom = min(top + ExactTiles.side, bounds.height)
            for word in 0..<words {
                var (any, all) = (UInt64(0), UInt64.max)
                for row in top..<bottom {
                    any |= bits[row * words + word]
                    all &= bits[row * words + word]
                }
                while any != 0 {
                    let bit = any.trailingZeroBitCount
                    any &= any - 1
                    let column = word * 64 + bit
                    body(pixels(column..<column + 1, top..<bottom), all >> UInt64(bit) & 1 == 1)
                }
            }
        }
    }

    /// Bytes that a rectangle takes in a patch, and each of its pixels on average: what decides whether unmarked cells
    /// between marked ones are taken along.
    private static let rectangleCost = 10.0
    private static let pixelCost = 0.3
    /// Cells between two marked ones of a row that are taken along; more are tried if there are too many rectangles.
    private static let gaps = [0, 2, 8, Int.max]

    /// What is marked as rectangles of pixels that don't overlap: at most `most`. They may cover some cells that aren't
    /// marked, if that makes a patch shorter.
    public func rectangles(most: Int) -> [PixelRect] {
        let extent = self.extent
        guard !extent.isEmpty else { return [] }
        var best = (rects: [extent], cost: Self.cost([extent]))
        for gap in Self.gaps {
            guard let rects = rectangles(most: most, gap: gap) else { continue }
            let cost = Self.cost(rects)
            if cost < best.cost { best = (rects, cost) }
        }
        guard best.rects.count == 1, extent.height > ExactTiles.side else { return best.rects }
        let coarse = coarseRectangles(most: most)
        return Self.cost(coarse) < best.cost ? coarse : best.rects
    }

    private static func cost(_ rects: [PixelRect]) -> Double {
        rects.reduce(0) { $0 + rectangleCost + pixelCost * Double($1.area) }
    }

    /// Parts of rows with at most `gap` unmarked cells between two marked ones; those of the same columns in rows that follow
    /// one another are one rectangle. Nil: there are more than `most`.
    private func rectangles(most: Int, gap: Int) -> [PixelRect]? {
        var closed: [PixelRect] = []
        var open: [(columns: Range<Int>, top: Int)] = []
        var last: [Range<Int>] = []
        for row in 0...bounds.height {
            let runs = row < bounds.height ? self.runs(row, gap: gap) : []
            guard runs != last else { continue }
            // Most rows have the runs of the one before.
            for old in open where !runs.contains(old.columns) { closed.append(pixels(old.columns, old.top..<row)) }
            open = runs.map { run in (run, open.first { $0.columns == run }?.top ?? row) }
            last = runs
            if closed.count + open.count > most { return nil }
        }
        return closed
    }

    private func runs(_ row: Int, gap: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for word in 0..<words {
            var rest = bits[row * words + word]
            while rest != 0 {
                let first = rest.trailingZeroBitCount
                let count = (~(rest >> UInt64(first))).trailingZeroBitCount
                let run = word * 64 + first..<word * 64 + first + count
                if let last = runs.last, run.lowerBound - last.upperBound <= gap {
                    runs[runs.count - 1] = last.lowerBound..<run.upperBound
                } else {
                    runs.append(run)
                }
                rest &= first + count < 64 ? ~Self.mask(first, first + count) : 0
            }
        }
        return runs
    }

    /// Whole tiles.
    private func coarseRectangles(most: Int) -> [PixelRect] {
        let down = (bounds.height + ExactTiles.side - 1) / ExactTiles.side
        var marked = [Bool](repeating: false, count: across * down)
        forEachTile { tile, _ in
            let (x, y) = ((tile.x - bounds.x) / ExactTiles.side, (tile.y - bounds.y) / ExactTiles.side)
            marked[y * across + x] = true
        }
        let (left, top) = (bounds.x / ExactTiles.side, bounds.y / ExactTiles.side)
        return ExactTiles.rectangles(marked, across: across, most: most).map {
            ExactTiles.pixels(
                of: PixelRect(x: $0.x + left, y: $0.y + top, width: $0.width, height: $0.height), in: size)
        }
    }
}
