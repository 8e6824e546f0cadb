import BeamMedia

/// Decides what a patch of a change has: which pixels, and what moves. A value without a clock.
///
/// It knows of each tile when it changed last, and whether viewers were sent exactly how it looks since then. What they may
/// not have exactly isn't built on: such a tile is sent whole. A viewer that hasn't it all the same asks.
public struct ChangePlanner {
    public struct Change {
        public var plan: PatchPlan
        /// What has really changed of the picture.
        public var damage: DamageRegion
        /// The tiles of which the plan has something.
        fileprivate var tiles: [Int]
        /// Some tiles are sent whole because viewers may not have them exactly.
        public var hasUnsent: Bool
    }

    private var difference = PictureDifference()
    /// The last picture, and when the screen began to look like it.
    private var last: (picture: Picture, since: MediaTime)?
    /// For each tile of the last picture: when it changed last, and whether that was sent exactly.
    private var times: [MediaTime] = []
    private var isSent: [Bool] = []

    public init() {}

    /// A picture of which nothing is sent: what viewers have isn't known any more.
    public mutating func skip(_ picture: Picture) {
        last = (picture, picture.time)
        let count = ExactTiles.across(picture.size) * ExactTiles.down(picture.size)
        times = [MediaTime](repeating: picture.time, count: count)
        isSent = [Bool](repeating: false, count: count)
    }

    /// The next picture. All changes since the one before have to be in its damage.
    ///
    /// - Parameter mostPixels: what has changed more is looked at only if most of it has moved.
    /// - Returns: nil if the change isn't for a patch.
    public mutating func plan(_ picture: Picture, mostPixels: Int) -> Change? {
        let count = ExactTiles.across(picture.size) * ExactTiles.down(picture.size)
        guard let last, last.picture.size == picture.size, times.count == count else {
            skip(picture)
            return nil
        }
        guard
            let found = difference.find(
                in: picture.buffer, since: last.picture.buffer, damage: picture.damage, mostPixels: mostPixels)
        else {
            self.last = (picture, picture.time)
            for rect in picture.damage.clipped(to: PixelRect(picture.size)).rects {
                forEach(in: ExactTiles.touched(by: rect)) { planner, tile in
                    (planner.times[tile], planner.isSent[tile]) = (picture.time, false)
                }
            }
            return nil
        }
        let change = plan(picture, since: last.since, found)
        self.last = (picture, change.damage.isEmpty ? last.since : picture.time)
        return change
    }

    private mutating func plan(
        _ picture: Picture, since previous: MediaTime, _ found: PictureDifference.Difference
    ) -> Change {
        var new = found.new
        var needed: MediaTime?
        var hasUnsent = false
        for (tile, reads) in partial(found) {
            guard reads.allSatisfy({ isSent[$0] }) else {
                new.mark(ExactTiles.pixels(of: tile, in: picture.size))
                hasUnsent = true
                continue
            }
            for read in reads { needed = max(needed ?? times[read], times[read]) }
        }
        var plan = PatchPlan(rects: new.rectangles(most: PatchCodec.mostRectangles), move: found.move)
        plan.basis = PatchPlan.Basis(
            previous: Self.age(of: previous, at: picture.time),
            needed: needed.map { Self.age(of: $0, at: picture.time) } ?? .max)
        var tiles: [Int] = []
        for rect in plan.rects + (plan.move.map { [$0.target] } ?? []) {
            forEach(in: ExactTiles.touched(by: rect)) { planner, tile in
                planner.times[tile] = picture.time
                planner.isSent[tile] = false
                tiles.append(tile)
            }
        }
        let damage = found.changed.rectangles(most: DamageRegion.limit)
        return Change(
            plan: plan, damage: damage.reduce(into: DamageRegion()) { $0.insert($1) }, tiles: tiles,
            hasUnsent: hasUnsent)
    }

    /// The tiles of which the patch has only a part, with what it builds on there: as `ExactMap` sees it.
    private func partial(_ found: PictureDifference.Difference) -> [(tile: PixelRect, reads: [Int])] {
        guard let size = last?.picture.size else { return [] }
        var whole: Set<Int> = []
        var parts: [(tile: PixelRect, reads: [Int])] = []
        func add(_ pixels: PixelRect) {
            let tile = ExactTiles.touched(by: pixels)
            let moved = found.move.map { pixels.intersection($0.target) }
            var reads: [Int] = []
            if moved?.area ?? 0 < pixels.area { reads.append(number(tile.x, tile.y)) }
            if let move = found.move, let moved, !moved.isEmpty {
                let source = ExactTiles.touched(by: move.source(of: moved))
                for y in source.y..<source.maxY { for x in source.x..<source.maxX { reads.append(number(x, y)) } }
            }
            parts.append((tile, reads))
        }
        let targets = found.move.map { ExactTiles.touched(by: $0.target) }
        found.new.forEachTile { pixels, isWhole in
            let tile = ExactTiles.touched(by: pixels)
            if isWhole { whole.insert(number(tile.x, tile.y)) }
            // Those that something moves to follow below.
            if !isWhole, targets?.contains(tile) != true { add(pixels) }
        }
        guard let targets else { return parts }
        for y in targets.y..<targets.maxY {
            for x in targets.x..<targets.maxX where !whole.contains(number(x, y)) {
                add(ExactTiles.pixels(of: PixelRect(x: x, y: y, width: 1, height: 1), in: size))
            }
        }
        return parts
    }

    /// In whole µs, as times are said to viewers.
    private static func age(of time: MediaTime, at now: MediaTime) -> UInt32 {
        UInt32(clamping: now.nanoseconds / 1000 - time.nanoseconds / 1000)
    }

    // MARK: What viewers have

    /// The change has left.
    public mutating func sent(_ change: Change) {
        for tile in change.tiles { isSent[tile] = true }
    }

    /// So did these tiles of the picture that was captured at `time`, whole.
    public mutating func repaired(_ tiles: PixelRect, of size: PixelSize, at time: MediaTime) {
        guard size == last?.picture.size else { return }
        forEach(in: tiles) { planner, tile in
            if planner.times[tile] <= time { planner.isSent[tile] = true }
        }
    }

    /// A viewer hasn't these rectangles of tiles exactly; it has chosen them.
    public mutating func lacking(_ tiles: [PixelRect]) {
        for rect in tiles { forEach(in: rect) { planner, tile in planner.isSent[tile] = false } }
    }

    private func number(_ x: Int, _ y: Int) -> Int {
        y * ExactTiles.across(last?.picture.size ?? PixelSize(width: 0, height: 0)) + x
    }

    private mutating func forEach(in tiles: PixelRect, _ body: (inout ChangePlanner, _ tile: Int) -> Void) {
        guard let size = last?.picture.size, !times.isEmpty else { return }
        let across = ExactTiles.across(size)
        let inside = tiles.intersection(PixelRect(x: 0, y: 0, width: across, height: ExactTiles.down(size)))
        guard !inside.isEmpty else { return }
        for y in inside.y..<inside.maxY {
            for tile in y * across + inside.x..<y * across + inside.maxX { body(&self, tile) }
        }
    }
}
