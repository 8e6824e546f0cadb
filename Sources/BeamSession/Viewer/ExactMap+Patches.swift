import BeamMedia

/// Which parts of a patch are to be shown.
extension ExactMap {
    public enum Verdict: Equatable, Sendable {
        /// If `moves`, carry out the patch's move; then show these parts of each rectangle: those of which nothing
        /// newer is shown.
        case show(moves: Bool, parts: [[PixelRect]])
        /// It builds on changes that haven't arrived, and may still: until all up to this time are known.
        case wait(until: UInt64)
        /// It builds on what isn't here, so it can't be shown, and these parts of the picture are outdated.
        case missed([PixelRect])
    }

    /// A patch has arrived that was captured at `time`, in µs of the host's clock.
    ///
    /// A change that builds on something is shown as a whole or not at all. Any other patch is shown wherever nothing newer
    /// is.
    ///
    /// - Parameter isLast: it has waited for long enough: the verdict isn't `.wait`.
    public mutating func take(
        _ plan: PatchPlan, capturedAt time: UInt64, isLast: Bool, now: MediaTime
    ) -> Verdict {
        guard let basis = plan.basis else { return .show(moves: false, parts: plan.rects.map { show($0, at: time) }) }
        let previous = time - min(time, UInt64(basis.previous))
        let needed = basis.needed == .max ? 0 : time - min(time, UInt64(basis.needed))
        let reading = Reading(plan, of: self)
        if !reading.read.isEmpty, known < needed, !isLast { return .wait(until: needed) }
        defer { know(from: previous, to: time) }
        let news = reading.written.filter { !isShown($0, at: time) }
        // All that is in the patch is shown already, or something newer.
        guard !news.isEmpty else { return .show(moves: false, parts: plan.rects.map { _ in [] }) }
        let isWhole = news.count == reading.written.count
        guard reading.read.isEmpty || (isWhole && known >= needed && hasExactly(reading.read, before: time)) else {
            return .missed(miss(news, at: time, now: now))
        }
        for tile in news { setExact(tile, at: time) }
        let tiles = isWhole ? nil : news.map { ExactTiles.pixels(of: tile($0), in: size) }
        return .show(
            moves: plan.move != nil && !reading.read.isEmpty,
            parts: plan.rects.map { rect in tiles?.map { $0.intersection(rect) }.filter { !$0.isEmpty } ?? [rect] })
    }

    /// A change that was captured at `time` has arrived and isn't shown: how its tiles look since then isn't known.
    ///
    /// - Parameter plan: nil if not even that could be read: all may have changed.
    /// - Returns: what is outdated by it, as rectangles of tiles.
    public mutating func drop(_ plan: PatchPlan?, capturedAt time: UInt64, now: MediaTime) -> [PixelRect] {
        guard let plan else {
            defer { know(from: 0, to: time) }
            return miss(Array(times.indices), at: time, now: now)
        }
        defer {
            if let basis = plan.basis { know(from: time - min(time, UInt64(basis.previous)), to: time) }
        }
        let tiles = (plan.rects + (plan.move.map { [$0.target] } ?? [])).compactMap { self.tiles(of: $0) }
        let numbers = tiles.flatMap { tiles in
            (tiles.y..<tiles.maxY).flatMap { $0 * across + tiles.x..<$0 * across + tiles.maxX }
        }
        return miss(numbers, at: time, now: now)
    }

    /// Between the picture before and this one nothing else has changed.
    private func hasExactly(_ tiles: [Int], before time: UInt64) -> Bool {
        tiles.allSatisfy { isExact[$0] && times[$0] < time }
    }

    private func tile(_ number: Int) -> PixelRect {
        PixelRect(x: number % across, y: number / across, width: 1, height: 1)
    }

    /// What is shown of the tile is at least as new, and exact if it is equally new; or its change is known to be later.
    private func isShown(_ tile: Int, at time: UInt64) -> Bool {
        times[tile] > time || (times[tile] == time && isExact[tile])
    }

    private mutating func setExact(_ tile: Int, at time: UInt64) {
        version &+= 1
        times[tile] = time
        guard !isExact[tile] else { return }
        isExact[tile] = true
        exactCount += 1
    }

    /// The parts of a rectangle of whole tiles that are to be shown.
    private mutating func show(_ rect: PixelRect, at time: UInt64) -> [PixelRect] {
        var shown: [PixelRect] = []
        guard let tiles = tiles(of: rect) else { return [] }
        for row in tiles.y..<tiles.maxY {
            var start: Int?
            for column in tiles.x..<tiles.maxX + 1 {
                if column < tiles.maxX, !isShown(row * across + column, at: time) {
                    setExact(row * across + column, at: time)
                    start = start ?? column
                } else if let first = start {
                    shown.append(PixelRect(x: first, y: row, width: column - first, height: 1))
                    start = nil
                }
            }
        }
        return Self.joined(shown).map { ExactTiles.pixels(of: $0, in: size) }
    }

    /// The tiles have changed, and how they look isn't known.
    private mutating func miss(_ tiles: [Int], at time: UInt64, now: MediaTime) -> [PixelRect] {
        var marked = [Bool](repeating: false, count: isExact.count)
        for tile in tiles where !isShown(tile, at: time) {
            setInexact(tile)
            times[tile] = time
            since[tile] = now
            marked[tile] = true
        }
        return ExactTiles.rectangles(marked, across: across, most: marked.count)
    }

    // MARK: What is known

    /// The most changes that are kept beyond a gap. More come only while much is lost, and then frames say what has changed.
    private static let mostBeyond = 64

    /// All changes after `from` and up to `to` are in `times`.
    mutating func know(from: UInt64, to: UInt64) {
        guard to > known else { return }
        guard from <= known else {
            if beyond.count == Self.mostBeyond { beyond.removeFirst() }
            return beyond.append((from, to))
        }
        known = to
        while let index = beyond.firstIndex(where: { $0.from <= known }) {
            known = max(known, beyond.remove(at: index).to)
        }
    }
}

/// Which tiles a patch writes, and which it needs as they were before.
private struct Reading {
    /// All tiles of which the patch has something.
    var written: [Int] = []
    /// Tiles that it builds on; empty: on nothing.
    var read: [Int] = []

    init(_ plan: PatchPlan, of map: ExactMap) {
        let parts = plan.rects + (plan.move.map { [$0.target] } ?? [])
        guard let first = parts.first, let bounds = map.tiles(of: parts.reduce(first) { $0.union($1) }) else { return }
        // How many pixels of each tile the rectangles have; they don't overlap.
        var pixels = [Int](repeating: -1, count: bounds.area)
        func forEach(in rect: PixelRect, _ body: (_ place: Int, _ tile: PixelRect) -> Void) {
            guard let tiles = map.tiles(of: rect) else { return }
            for y in tiles.y..<tiles.maxY {
                for x in tiles.x..<tiles.maxX {
                    body((y - bounds.y) * bounds.width + x - bounds.x, PixelRect(x: x, y: y, width: 1, height: 1))
                }
            }
        }
        for rect in plan.rects {
            forEach(in: rect) { place, tile in
                let part = ExactTiles.pixels(of: tile, in: map.size).intersection(rect)
                pixels[place] = max(0, pixels[place]) + part.area
            }
        }
        if let move = plan.move { forEach(in: move.target) { place, _ in pixels[place] = max(0, pixels[place]) } }
        for y in bounds.y..<bounds.maxY {
            for x in bounds.x..<bounds.maxX {
                let count = pixels[(y - bounds.y) * bounds.width + x - bounds.x]
                guard count >= 0 else { continue }
                let tile = ExactTiles.pixels(of: PixelRect(x: x, y: y, width: 1, height: 1), in: map.size)
                written.append(y * map.across + x)
                guard count < tile.area else { continue }
                let moved = plan.move.map { tile.intersection($0.target) } ?? PixelRect(x: 0, y: 0, width: 0, height: 0)
                if moved.area < tile.area { read.append(y * map.across + x) }
                guard let move = plan.move, let source = map.tiles(of: move.source(of: moved)) else { continue }
                for row in source.y..<source.maxY {
                    for column in source.x..<source.maxX { read.append(row * map.across + column) }
                }
            }
        }
    }
}
