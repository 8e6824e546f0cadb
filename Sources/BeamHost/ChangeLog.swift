import BeamMedia
import BeamWire

/// Which parts of the screen changed when, for what frames say of it (`FrameChanges`).
///
/// Keeps the last changes one by one, and of those before only when the last of them was. A change is forgotten when later
/// ones have covered it; what is left of it is named by one rectangle, if that has nothing but tiles that have changed
/// since. A value without a clock.
struct ChangeLog {
    /// The most rectangles that are kept: one less than a frame may name, which names the whole picture, too, for all the
    /// changes before them.
    private static let most = FrameChanges.most - 1

    /// A change, as rectangles of tiles.
    private struct Entry {
        var number: Int
        var time: UInt64
        var rects: [PixelRect]
        /// It came after the last frame was made.
        var isNew = true
    }

    private var size: PixelSize?
    /// For each tile the number of its last change; 0: it is from before the log.
    private var last: [Int] = []
    private var across = 0
    private var nextNumber = 1
    /// In the order of their times.
    private var entries: [Entry] = []
    /// All that have come after the last frame was made are kept.
    private var hasAllNew = false
    /// When anything changed last before those that are kept.
    private var floor: UInt64 = 0

    /// The next frame should come soon, while it can still name each change. For those that it can't name it says that
    /// anything may have changed.
    var isFilling: Bool { !hasAllNew || newCount > Self.most * 3 / 4 }

    private var count: Int { entries.reduce(0) { $0 + $1.rects.count } }
    private var newCount: Int { entries.reduce(0) { $0 + ($1.isNew ? $1.rects.count : 0) } }

    /// The screen has changed in `damage`, and looks like this since `time`.
    mutating func add(_ damage: DamageRegion, of size: PixelSize, at time: MediaTime) {
        let changes = damage.clipped(to: PixelRect(size)).rects.map {
            FrameChanges.Change(rect: $0, time: time.microseconds)
        }
        add(changes, of: size, at: time)
    }

    /// The screen has changed in these parts, the last one last, and looks like this since `time`.
    mutating func add(_ added: [FrameChanges.Change], of size: PixelSize, at time: MediaTime) {
        guard size == self.size else {
            self.size = size
            across = ExactTiles.across(size)
            last = [Int](repeating: 0, count: ExactTiles.grid(size).area)
            (entries, hasAllNew, floor) = ([], false, time.microseconds)
            return
        }
        let first = nextNumber
        for change in added {
            let inside = change.rect.intersection(PixelRect(size))
            guard !inside.isEmpty else { continue }
            let tiles = ExactTiles.touched(by: inside)
            if let entry = entries.last, entry.number >= first, entry.time == change.time {
                entries[entries.count - 1].rects.append(tiles)
            } else {
                entries.append(Entry(number: nextNumber, time: change.time, rects: [tiles]))
                nextNumber += 1
            }
            for row in tiles.y..<tiles.maxY {
                for tile in row * across + tiles.x..<row * across + tiles.maxX { last[tile] = nextNumber - 1 }
            }
        }
        // Fewer fit in any case.
        if newCount > Self.most / 2 { prune() }
        while count > Self.most {
            let oldest = entries.removeFirst()
            floor = oldest.time
            if oldest.isNew { hasAllNew = false }
        }
    }

    /// Leaves of each change what no later one has covered.
    private mutating func prune() {
        var places: [Int: Int] = [:]
        for (place, entry) in entries.enumerated() { places[entry.number] = place }
        var bounds = [PixelRect?](repeating: nil, count: entries.count)
        for row in 0..<last.count / max(1, across) {
            var start = row * across
            while start < (row + 1) * across {
                var end = start + 1
                while end < (row + 1) * across, last[end] == last[start] { end += 1 }
                if let place = places[last[start]] {
                    let run = PixelRect(x: start - row * across, y: row, width: end - start, height: 1)
                    bounds[place] = bounds[place]?.union(run) ?? run
                }
                start = end
            }
        }
        entries = entries.enumerated().compactMap { place, entry in
            guard let bounds = bounds[place] else { return nil }
            var entry = entry
            // They may have tiles that have changed later, too: the latest time counts.
            if entry.rects.count == 1 || tiles(bounds).allSatisfy({ last[$0] >= entry.number }) {
                entry.rects = [bounds]
            } else {
                entry.rects.removeAll { rect in !tiles(rect).contains { last[$0] == entry.number } }
            }
            return entry
        }
    }

    private func tiles(_ rect: PixelRect) -> some Sequence<Int> {
        (rect.y..<rect.maxY).lazy.flatMap { [across] row in row * across + rect.x..<row * across + rect.maxX }
    }

    /// What the frame of a picture that was captured at `time` says.
    ///
    /// - Parameter isContinued: whoever gets it has the frame before, so that it names only what has changed since.
    mutating func take(at time: MediaTime, of size: PixelSize, isContinued: Bool) -> FrameChanges {
        let time = time.microseconds
        guard size == self.size else { return .all(of: size, at: time) }
        let isNewOnly = isContinued && hasAllNew
        // It takes a while, and in motion each frame has one change: nothing has covered that.
        if !isNewOnly || entries.reduce(0, { $0 + ($1.isNew ? 1 : 0) }) > 1 { prune() }
        defer {
            hasAllNew = true
            for index in entries.indices { entries[index].isNew = false }
        }
        var said = FrameChanges(captureTime: time, changes: [])
        if !isNewOnly { said.changes.append(FrameChanges.Change(rect: PixelRect(size), time: floor)) }
        for entry in entries where entry.isNew || !isNewOnly {
            said.changes += entry.rects.map {
                FrameChanges.Change(rect: ExactTiles.pixels(of: $0, in: size), time: entry.time)
            }
        }
        // A change after the picture was captured is named with the picture's time: the frame can't show it.
        for index in said.changes.indices { said.changes[index].time = min(said.changes[index].time, time) }
        return said
    }
}
