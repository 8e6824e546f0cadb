import BeamMedia

/// Decides what a patch of a change has: which pixels, and what moves. A value without a clock.
///
/// It knows of each tile when it changed last, and whether viewers were sent exactly how it looks since then. What they may
/// not have exactly isn't built on: such a tile is sent whole. A viewer that lacks such a tile all the same asks for it.
public struct ChangePlanner {
    public struct Change {
        public var plan: PatchPlan
        /// What has really changed of the picture.
        public var damage: DamageRegion
        /// The tiles of which the plan has something, and no others, as rectangles of pixels: what frames say of the change.
        /// A tile that a frame names and the patch hasn't wouldn't count as exact any more.
        public var parts: [PixelRect]
        /// The same tiles by their numbers.
        fileprivate var tiles: [Int]
        /// Some tiles are sent whole because viewers may not have them exactly.
        public var hasUnsent: Bool
    }

    /// Grids' areas that viewers may name together between two pictures.
    private static let mostGrids = 4
    /// After so long without a change it is no film any more.
    private static let filmPause = Duration.milliseconds(150)

    private var difference = PictureDifference()
    /// The last picture, and when the screen began to look like it.
    private var last: (picture: Picture, since: MediaTime)?
    /// Two pictures of a film in which moves are to be looked for, and the most pixels of a change without one.
    private var film: (picture: Picture, before: PixelBuffer, mostPixels: Int)?
    /// For each tile of the last picture: when it changed last, and whether that was sent exactly.
    private var times: [MediaTime] = []
    private var isSent: [Bool] = []

    public init() {}

    /// A picture of which nothing is sent: what viewers have isn't known any more.
    public mutating func skip(_ picture: Picture) {
        film = nil
        last = (picture, picture.time)
        let count = ExactTiles.across(picture.size) * ExactTiles.down(picture.size)
        times = [MediaTime](repeating: picture.time, count: count)
        isSent = [Bool](repeating: false, count: count)
    }

    /// The next picture. All changes since the one before have to be in its damage.
    ///
    /// - Parameter mostPixels: larger damage is a patch only if a quarter or more of what has changed has moved.
    /// - Returns: nil if the change isn't for a patch.
    public mutating func plan(_ picture: Picture, mostPixels: Int) -> Change? {
        let count = ExactTiles.across(picture.size) * ExactTiles.down(picture.size)
        guard let last, last.picture.size == picture.size, times.count == count else {
            skip(picture)
            return nil
        }
        if picture.time - last.picture.time >= Self.filmPause { difference.endFilm() }
        defer { if difference.isLookDue { film = (picture, last.picture.buffer, mostPixels) } }
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

    /// Does what the next pictures need, once the last one is on its way. What is a film is searched for moves now and then.
    public mutating func prepare() {
        guard let (picture, before, mostPixels) = film else { return }
        film = nil
        difference.lookAgain(in: picture.buffer, since: before, damage: picture.damage, mostPixels: mostPixels)
    }

    private mutating func plan(
        _ picture: Picture, since previous: MediaTime, _ found: PictureDifference.Difference
    ) -> Change {
        var new = found.new
        var needed: MediaTime?
        var hasUnsent = false
        forEachPart(of: found) { tile in
            if let newest = newestNeeded(by: tile, found.move) {
                needed = max(needed ?? newest, newest)
            } else {
                new.mark(tile)
                hasUnsent = true
            }
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
            plan: plan, damage: damage.reduce(into: DamageRegion()) { $0.insert($1) },
            parts: Self.rectangles(of: tiles, in: picture.size), tiles: tiles,
            hasUnsent: hasUnsent)
    }

    private static func rectangles(of tiles: [Int], in size: PixelSize) -> [PixelRect] {
        var marked = [Bool](repeating: false, count: ExactTiles.across(size) * ExactTiles.down(size))
        for tile in tiles { marked[tile] = true }
        return ExactTiles.rectangles(marked, across: ExactTiles.across(size), most: marked.count).map {
            ExactTiles.pixels(of: $0, in: size)
        }
    }

    /// Calls `body` with the pixels of each tile of which the patch has only a part.
    private func forEachPart(of found: PictureDifference.Difference, _ body: (_ tile: PixelRect) -> Void) {
        guard let size = last?.picture.size else { return }
        let targets = found.move.map { ExactTiles.touched(by: $0.target) } ?? PixelRect(x: 0, y: 0, width: 0, height: 0)
        // To these something moves.
        var isPart = [Bool](repeating: true, count: targets.area)
        found.new.forEachTile { pixels, isWhole in
            let tile = ExactTiles.touched(by: pixels)
            if targets.contains(tile) {
                if isWhole { isPart[(tile.y - targets.y) * targets.width + tile.x - targets.x] = false }
            } else if !isWhole {
                body(pixels)
            }
        }
        for place in isPart.indices where isPart[place] {
            let (x, y) = (targets.x + place % targets.width, targets.y + place / targets.width)
            body(ExactTiles.pixels(of: PixelRect(x: x, y: y, width: 1, height: 1), in: size))
        }
    }

    /// When the last of the tiles has changed that are needed for a part of a tile, as `ExactMap` sees it: the tile itself,
    /// unless all of it is moved to, and those from which something moves there. Nil: viewers may not have all of them.
    private func newestNeeded(by pixels: PixelRect, _ move: PixelMove?) -> MediaTime? {
        var newest: MediaTime?
        func read(_ tiles: PixelRect) -> Bool {
            for y in tiles.y..<tiles.maxY {
                for x in tiles.x..<tiles.maxX {
                    guard isSent[number(x, y)] else { return false }
                    newest = max(newest ?? times[number(x, y)], times[number(x, y)])
                }
            }
            return true
        }
        let moved = move.map { pixels.intersection($0.target) } ?? PixelRect(x: 0, y: 0, width: 0, height: 0)
        if moved.area < pixels.area, !read(ExactTiles.touched(by: pixels)) { return nil }
        if let move, !moved.isEmpty, !read(ExactTiles.touched(by: move.source(of: moved))) { return nil }
        return newest
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

    /// These tiles of the picture that was captured at `time` have left, whole.
    public mutating func repaired(_ tiles: PixelRect, of size: PixelSize, at time: MediaTime) {
        guard size == last?.picture.size else { return }
        forEach(in: tiles) { planner, tile in
            if planner.times[tile] <= time { planner.isSent[tile] = true }
        }
    }

    /// A viewer lacks these rectangles of tiles. It has chosen the numbers: they may lie anywhere.
    public mutating func lacking(_ tiles: [PixelRect]) {
        guard let size = last?.picture.size else { return }
        let grid = PixelRect(x: 0, y: 0, width: ExactTiles.across(size), height: ExactTiles.down(size))
        let inside = tiles.map { $0.intersection(grid) }
        // Named again and again: it lacks everything.
        if inside.reduce(0, { $0 + $1.area }) > Self.mostGrids * grid.area {
            isSent = [Bool](repeating: false, count: isSent.count)
        } else {
            for rect in inside { forEach(in: rect) { planner, tile in planner.isSent[tile] = false } }
        }
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
