import BeamMedia

/// Which tiles of a picture are exact, and which frames and patches are newer than what is shown of each.
///
/// Frames and patches come in any order. For each tile the one shown is the newest by capture time, and of two equally new
/// ones the exact one. A value without I/O and clock.
public struct ExactMap: Sendable {
    /// The picture's size in pixels.
    public let size: PixelSize
    let across: Int
    /// For each tile: when it changed last on the host's screen, or when what is shown of it exactly was captured, whichever
    /// is later; in µs of the host's clock.
    var times: [UInt64]
    var isExact: [Bool]
    /// Since when a tile hasn't been exact, or has changed last while it wasn't.
    var since: [MediaTime]
    /// How many tiles are exact.
    public internal(set) var exactCount = 0
    /// Another number after each change of what is exact, or of the time since which a tile looks as it does.
    public internal(set) var version: UInt64 = 0
    /// All changes of the host's screen up to this time are known: `times` has them.
    public internal(set) var known: UInt64 = 0
    /// Changes that are known beyond a gap: what happened from the first of these times to the second.
    var beyond: [(from: UInt64, to: UInt64)] = []

    /// No tile is exact, and all have changed at time 0.
    public init(_ size: PixelSize, now: MediaTime) {
        self.size = size
        across = ExactTiles.across(size)
        let count = across * ExactTiles.down(size)
        times = [UInt64](repeating: 0, count: count)
        isExact = [Bool](repeating: false, count: count)
        since = [MediaTime](repeating: now, count: count)
    }

    public var isAllExact: Bool { exactCount == isExact.count }

    /// The share of tiles that are exact, 0 to 1.
    public var exactShare: Double { Double(exactCount) / Double(max(1, isExact.count)) }

    /// A frame is shown from now on, which says what has changed since the frame before. Exact tiles that are at least as
    /// new as their change stay.
    ///
    /// - Returns: the tiles that were exact and aren't any more, as rectangles of pixels.
    public mutating func take(_ changes: FrameChanges, now: MediaTime) -> [PixelRect] {
        var lost: [Bool]?
        defer { know(from: 0, to: changes.captureTime) }
        for change in bounded(changes.changes) {
            forEach(in: change.rect) { map, tile in
                if map.isExact[tile] {
                    guard map.times[tile] < change.time else { return }
                    map.setInexact(tile)
                    if lost == nil { lost = [Bool](repeating: false, count: map.isExact.count) }
                    lost?[tile] = true
                }
                if map.times[tile] < change.time { map.times[tile] = change.time }
                map.since[tile] = now
            }
        }
        return lost.map { rectangles($0) } ?? []
    }

    /// Changes as they were said; if together they are many pictures large, which a host may say of each frame to keep this
    /// machine busy, all that they say is that everything has changed.
    private func bounded(_ changes: [FrameChanges.Change]) -> [FrameChanges.Change] {
        let area = changes.reduce(0) { $0 + $1.rect.intersection(PixelRect(size)).area }
        guard area > Self.mostPictures * size.area, let last = changes.map(\.time).max() else { return changes }
        return [FrameChanges.Change(rect: PixelRect(size), time: last)]
    }

    /// Pictures' areas that a frame's changes may have together.
    private static let mostPictures = 8

    /// Rows of the same columns that follow one another become one rectangle.
    static func joined(_ rows: [PixelRect]) -> [PixelRect] {
        var joined: [PixelRect] = []
        for row in rows {
            if let last = joined.last, last.x == row.x, last.width == row.width, last.maxY == row.y {
                joined[joined.count - 1].height += 1
            } else {
                joined.append(row)
            }
        }
        return joined
    }

    /// Of `rects` (pixels) and the tiles that they touch, those that aren't exact: what the video shows.
    public func inexact(in rects: [PixelRect]) -> [PixelRect] {
        var marked = [Bool](repeating: false, count: isExact.count)
        for rect in rects {
            guard let tiles = tiles(of: rect) else { continue }
            for row in tiles.y..<tiles.maxY {
                for tile in row * across + tiles.x..<row * across + tiles.maxX where !isExact[tile] {
                    marked[tile] = true
                }
            }
        }
        return rectangles(marked)
    }

    /// The tiles that aren't exact although they haven't changed for `rest`, as rectangles of tiles: at most `most`.
    public func lacking(for rest: Duration, most: Int, now: MediaTime) -> [PixelRect] {
        guard !isAllExact else { return [] }
        var marked = [Bool](repeating: false, count: isExact.count)
        var isAny = false
        for tile in isExact.indices where !isExact[tile] && now - since[tile] >= rest {
            marked[tile] = true
            isAny = true
        }
        guard isAny else { return [] }
        return ExactTiles.rectangles(marked, across: across, most: most)
    }

    /// The tile doesn't count as exact any more.
    mutating func setInexact(_ tile: Int) {
        version &+= 1
        guard isExact[tile] else { return }
        isExact[tile] = false
        exactCount -= 1
    }

    private func rectangles(_ marked: [Bool]) -> [PixelRect] {
        ExactTiles.rectangles(marked, across: across, most: marked.count).map {
            ExactTiles.pixels(of: $0, in: size)
        }
    }

    /// Nil: the rectangle is outside of the picture.
    func tiles(of rect: PixelRect) -> PixelRect? {
        let inside = rect.intersection(PixelRect(size))
        return inside.isEmpty ? nil : ExactTiles.touched(by: inside)
    }

    private mutating func forEach(in rect: PixelRect, _ body: (inout ExactMap, _ tile: Int) -> Void) {
        guard let tiles = tiles(of: rect) else { return }
        for row in tiles.y..<tiles.maxY {
            for tile in row * across + tiles.x..<row * across + tiles.maxX { body(&self, tile) }
        }
    }
}
