/// Which parts of the screen have changed, and when: what a frame says of its picture to viewers that have exact tiles,
/// so that they know which of them the frame outdates.
public struct FrameChanges: Hashable, Sendable {
    public struct Change: Hashable, Sendable {
        /// On the grid of tiles (`ExactTiles`).
        public var rect: PixelRect
        /// When it changed last, in µs of the host's clock.
        public var time: UInt64

        public init(rect: PixelRect, time: UInt64) {
            self.rect = rect
            self.time = time
        }
    }

    /// The most changes that a frame names.
    public static let most = 64

    /// When the screen looked like the frame's picture, in µs of the host's clock.
    public var captureTime: UInt64
    /// What isn't in one of them has not changed since the frame before. They may overlap; the latest time counts.
    public var changes: [Change]

    public init(captureTime: UInt64, changes: [Change]) {
        self.captureTime = captureTime
        self.changes = changes
    }

    /// All of the picture has changed, or may have.
    public static func all(of size: PixelSize, at time: UInt64) -> FrameChanges {
        FrameChanges(captureTime: time, changes: [Change(rect: PixelRect(size), time: time)])
    }

    /// What has changed by both of two frames, of which `older` isn't shown.
    public func following(_ older: FrameChanges, size: PixelSize) -> FrameChanges {
        let both = older.changes + changes
        guard both.count <= Self.most else { return .all(of: size, at: captureTime) }
        return FrameChanges(captureTime: captureTime, changes: both)
    }
}

/// The grid of tiles by which it is known what is exact.
public enum ExactTiles {
    /// The length of a tile's side in pixels.
    public static let side = 16

    public static func across(_ size: PixelSize) -> Int { (size.width + side - 1) / side }
    public static func down(_ size: PixelSize) -> Int { (size.height + side - 1) / side }

    /// The tiles that touch `rect`, as a rectangle of tiles; `rect` lies inside the picture.
    public static func touched(by rect: PixelRect) -> PixelRect {
        let (left, top) = (rect.x / side, rect.y / side)
        return PixelRect(
            x: left, y: top, width: (rect.maxX + side - 1) / side - left, height: (rect.maxY + side - 1) / side - top)
    }

    /// The pixels of a rectangle of tiles, as far as they are in the picture.
    public static func pixels(of tiles: PixelRect, in size: PixelSize) -> PixelRect {
        PixelRect(
            x: tiles.x * side, y: tiles.y * side, width: tiles.width * side, height: tiles.height * side
        ).intersection(PixelRect(size))
    }

    /// Whether a rectangle lies on the grid and in the picture, and isn't empty.
    public static func contains(_ rect: PixelRect, in size: PixelSize) -> Bool {
        !rect.isEmpty && PixelRect(size).contains(rect) && rect.x % side == 0 && rect.y % side == 0
            && (rect.width % side == 0 || rect.maxX == size.width)
            && (rect.height % side == 0 || rect.maxY == size.height)
    }

    /// Marked tiles, row by row, as rectangles of tiles that don't overlap: at most `most`, and if there are more, they
    /// cover some that aren't marked.
    public static func rectangles(_ marked: [Bool], across: Int, most: Int) -> [PixelRect] {
        guard across > 0, most > 0 else { return [] }
        var found = merged(marked, across: across) { runs(in: $0) }
        if found.count > most { found = merged(marked, across: across) { span(of: $0).map { [$0] } ?? [] } }
        guard found.count > most else { return found }
        return [found.reduce(found[0]) { $0.union($1) }]
    }

    /// Runs of the same columns in rows that follow one another become one rectangle.
    private static func merged(
        _ marked: [Bool], across: Int, _ parts: (ArraySlice<Bool>) -> [Range<Int>]
    ) -> [PixelRect] {
        var closed: [PixelRect] = []
        var open: [PixelRect] = []
        for row in 0..<marked.count / across {
            var next: [PixelRect] = []
            for part in parts(marked[row * across..<(row + 1) * across]) {
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

    private static func runs(in row: ArraySlice<Bool>) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var start: Int?
        for (column, isMarked) in row.enumerated() {
            if isMarked {
                start = start ?? column
            } else if let begin = start {
                runs.append(begin..<column)
                start = nil
            }
        }
        if let start { runs.append(start..<row.count) }
        return runs
    }

    private static func span(of row: ArraySlice<Bool>) -> Range<Int>? {
        guard let first = row.firstIndex(of: true), let last = row.lastIndex(of: true) else { return nil }
        return first - row.startIndex..<last + 1 - row.startIndex
    }
}
