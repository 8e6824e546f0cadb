/// Combines marked tiles of a grid into rectangles.
public enum MarkedTiles {
    /// What is taken of each row.
    public enum Parts: Sendable {
        /// Its marked tiles, those side by side together.
        case runs
        /// All from its first to its last marked tile.
        case spans
    }

    /// Rectangles of tiles that don't overlap: the parts of the rows, where parts of the same columns in rows that follow one
    /// another become one rectangle.
    ///
    /// - Parameter isMarked: of a tile by its number, row by row.
    @inlinable public static func rectangles(
        across: Int, down: Int, _ parts: Parts, isMarked: (Int) -> Bool
    ) -> [PixelRect] {
        var closed: [PixelRect] = []
        var open: [PixelRect] = []
        for row in 0..<down {
            var next: [PixelRect] = []
            for part in columns(of: row, across: across, parts, isMarked: isMarked) {
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

    @inlinable static func columns(
        of row: Int, across: Int, _ parts: Parts, isMarked: (Int) -> Bool
    ) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var start: Int?
        for column in 0..<across {
            if isMarked(row * across + column) {
                start = start ?? column
            } else if let begin = start {
                runs.append(begin..<column)
                start = nil
            }
        }
        if let start { runs.append(start..<across) }
        guard case .spans = parts, let first = runs.first, let last = runs.last else { return runs }
        return [first.lowerBound..<last.upperBound]
    }
}
