import BeamMedia
import BeamSession

@testable import BeamHost

/// A screen whose tiles change, a host that sends patches and frames, and what its viewer shows.
///
/// The host's part is the real `ChangeLog`, the viewer's the real `ExactMap`; between them is a model of a screen in
/// which each tile looks like a number.
struct ExactnessWorld {
    /// What a change does to a tile.
    private enum Effect {
        case whole(UInt64)
        /// A part of it is new: how it looks follows from how it looked.
        case part(UInt64)
        case moved(from: Int)
    }

    private struct Patch {
        var due: MediaTime
        var plan: PatchPlan
        var effects: [Int: Effect]
        var time: UInt64
        var waitsUntil: MediaTime?
    }

    private static let patience = Duration.milliseconds(60)

    let size = PixelSize(width: 200, height: 120)
    private var random: SplitMix
    var now = MediaTime(nanoseconds: 1_000_000_000)
    private var log = ChangeLog()
    /// For each tile, the times of its changes in µs and how it looks since then, the last one last.
    private var history: [[(time: UInt64, looks: UInt64)]]
    private var lastChange: UInt64 = 1_000_000
    private(set) var map: ExactMap?
    /// For each tile: whether what is shown is exact, since when the screen looks like that, and what is shown.
    private var shown: [(isExact: Bool, since: UInt64, looks: UInt64)]
    private var patches: [Patch] = []
    private var frames: [(due: MediaTime, changes: FrameChanges)] = []
    private var lastFrameDue = MediaTime.zero
    private var isContinued = false
    private var missesFrames = false
    private var decodedTime: UInt64?
    private var outdated: [(time: UInt64, tiles: [Int])] = []
    /// Of a hundred patches that arrive, so many are dropped by the viewer, some of them unread.
    var dropped = 0
    private(set) var sentPatches = 0
    private(set) var shownPatches = 0

    private var across: Int { ExactTiles.across(size) }
    private var time: UInt64 { UInt64(now.nanoseconds / 1000) }

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        let count = ExactTiles.across(size) * ExactTiles.down(size)
        history = (0..<count).map { [(time: UInt64(1_000_000), looks: UInt64($0))] }
        shown = Array(repeating: (false, 0, 0), count: count)
        log.add(DamageRegion(PixelRect(size)), of: size, at: now)
    }

    mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    /// All tiles look as they do on the host's screen.
    var isAllShown: Bool { shown.indices.allSatisfy { shown[$0].looks == history[$0].last?.looks } }

    private func tiles(_ rect: PixelRect) -> [Int] {
        guard !rect.isEmpty else { return [] }
        let tiles = ExactTiles.touched(by: rect)
        return (tiles.y..<tiles.maxY).flatMap { row in (tiles.x..<tiles.maxX).map { row * across + $0 } }
    }

    private func pixels(of tile: Int) -> PixelRect {
        ExactTiles.pixels(of: PixelRect(x: tile % across, y: tile / across, width: 1, height: 1), in: size)
    }

    private func state(_ tile: Int, at time: UInt64) -> (time: UInt64, looks: UInt64) {
        history[tile].last { $0.time <= time } ?? (0, 0)
    }

    // MARK: The host

    /// The screen changes: all or a part of some tiles, or some are where others were. Mostly that is sent as a patch.
    mutating func change(lost: Int) {
        guard time > lastChange else { return }
        let rect = PixelRect(
            x: below(size.width), y: below(size.height), width: 1 + below(90), height: 1 + below(60)
        ).intersection(PixelRect(size))
        var plan = PatchPlan(rects: [rect])
        if below(3) == 0 {
            plan.rects = [ExactTiles.pixels(of: ExactTiles.touched(by: rect), in: size)]
        } else if below(2) == 0, let move = move(to: rect) {
            plan = PatchPlan(rects: [], move: move)
        }
        var effects: [Int: Effect] = [:]
        var needed: UInt64 = 0
        for tile in tiles(plan.move?.target ?? plan.rects[0]) {
            if let move = plan.move {
                let from = tiles(move.source(of: pixels(of: tile)))[0]
                needed = max(needed, history[from].last?.time ?? 0)
                effects[tile] = .moved(from: from)
            } else if plan.rects[0].contains(pixels(of: tile)) {
                effects[tile] = .whole(random.next())
            } else {
                needed = max(needed, history[tile].last?.time ?? 0)
                effects[tile] = .part(random.next())
            }
        }
        plan.basis = .init(
            previous: UInt32(time - lastChange), needed: needed == 0 ? .max : UInt32(time - needed))
        let before = history.map { $0.last?.looks ?? 0 }
        for (tile, effect) in effects { history[tile].append((time, Self.apply(effect, to: tile, of: before))) }
        lastChange = time
        log.add(DamageRegion(plan.move?.target ?? plan.rects[0]), of: size, at: now)
        if below(3) > 0 { send(plan, effects, lost: lost) }
    }

    /// A move of whole tiles by whole tiles.
    private mutating func move(to rect: PixelRect) -> PixelMove? {
        let target = ExactTiles.pixels(of: ExactTiles.touched(by: rect), in: PixelSize(width: 192, height: 112))
        let move = PixelMove(target: target, dx: 16 * (below(5) - 2), dy: 16 * (below(5) - 2))
        return move.isInside(PixelSize(width: 192, height: 112)) ? move : nil
    }

    private static func apply(_ effect: Effect, to tile: Int, of before: [UInt64]) -> UInt64 {
        switch effect {
        case .whole(let looks): looks
        case .part(let looks): before[tile] &* 31 ^ looks
        case .moved(let from): before[from]
        }
    }

    private mutating func send(_ plan: PatchPlan, _ effects: [Int: Effect], lost: Int) {
        sentPatches += 1
        for _ in 0...(below(4) == 0 ? 1 : 0) where below(100) >= lost {
            let due = now + .microseconds(100 + below(30_000))
            patches.append(Patch(due: due, plan: plan, effects: effects, time: time))
        }
    }

    mutating func sendFrame(lost: Int) {
        let isKeyframe = missesFrames && below(2) == 0
        let changes = log.take(at: now, of: size, isContinued: isContinued && !isKeyframe)
        isContinued = true
        if below(100) < lost {
            missesFrames = true
            return
        }
        // The decoder's stage tells so if a frame is missing.
        let said = missesFrames && !isKeyframe ? FrameChanges.all(of: size, at: changes.captureTime) : changes
        missesFrames = false
        lastFrameDue = max(lastFrameDue, now + .microseconds(2000 + below(20_000)))
        frames.append((lastFrameDue, said))
    }

    /// The viewer asks for what it lacks, and the host answers.
    mutating func repair(lost: Int) {
        guard let map else { return }
        for wanted in map.lacking(for: .milliseconds(80), most: 31, now: now) {
            let rect = ExactTiles.pixels(of: wanted, in: size)
            let effects = tiles(rect).map { ($0, Effect.whole(history[$0].last?.looks ?? 0)) }
            send(PatchPlan(rects: [rect]), Dictionary(uniqueKeysWithValues: effects), lost: lost)
        }
    }

    // MARK: The viewer

    /// Shows what has arrived. False: something older than before was shown, or what counts as exact isn't.
    mutating func deliver() -> Bool {
        while let frame = frames.first, frame.due <= now {
            frames.removeFirst()
            guard show(frame.changes), showWaiting() else { return false }
        }
        for index in patches.indices where patches[index].due <= now && patches[index].waitsUntil == nil {
            guard show(index), showWaiting() else { return false }
        }
        guard showWaiting() else { return false }
        patches.removeAll { $0.due <= now && $0.waitsUntil == nil }
        return map.map { map in
            Set(map.inexact(in: [PixelRect(size)]).flatMap { tiles($0) })
                == Set(shown.indices.filter { !shown[$0].isExact })
        } ?? true
    }

    private mutating func show(_ changes: FrameChanges) -> Bool {
        if map == nil { map = ExactMap(size, now: now) }
        let time = changes.captureTime
        let lost = Set(map?.take(changes, now: now).flatMap { tiles($0) } ?? [])
        // As the window: what differs from the decoded picture before, and what patches couldn't be shown for.
        let due = Set(outdated.filter { $0.time <= time }.flatMap(\.tiles))
        outdated.removeAll { $0.time <= time }
        defer { decodedTime = time }
        for tile in shown.indices where !shown[tile].isExact || lost.contains(tile) {
            let state = state(tile, at: time)
            let isDrawn =
                lost.contains(tile) || due.contains(tile)
                || decodedTime.map { self.state(tile, at: $0).looks != state.looks } ?? true
            guard isDrawn else { continue }
            // What a patch couldn't be shown for may be shown older by a frame that comes late, until the next one.
            if lost.contains(tile), state.time < shown[tile].since { return false }
            if state.time >= shown[tile].since { shown[tile] = (false, state.time, state.looks) }
        }
        return true
    }

    private mutating func showWaiting() -> Bool {
        for index in patches.indices where patches[index].waitsUntil != nil {
            guard show(index) else { return false }
        }
        return true
    }

    private mutating func show(_ index: Int) -> Bool {
        let patch = patches[index]
        let end = patch.waitsUntil ?? now + Self.patience
        if dropped > 0, patch.waitsUntil == nil, below(100) < dropped {
            guard patch.plan.basis != nil else { return true }
            let isRead = below(4) > 0
            note(missed: map?.drop(isRead ? patch.plan : nil, capturedAt: patch.time, now: now) ?? [], at: patch.time)
            return true
        }
        patches[index].waitsUntil = nil
        switch map?.take(patch.plan, capturedAt: patch.time, isLast: end <= now, now: now) {
        case nil: break
        case .wait: patches[index].waitsUntil = end
        case .missed(let missed): note(missed: missed, at: patch.time)
        case .show(let moves, let parts):
            shownPatches += 1
            let before = shown.map(\.looks)
            let places = moves ? patch.plan.move.map { tiles($0.target) } ?? [] : parts.joined().flatMap { tiles($0) }
            for tile in Set(places) {
                guard let effect = patch.effects[tile] else { return false }
                let looks = Self.apply(effect, to: tile, of: before)
                let state = state(tile, at: patch.time)
                guard looks == state.looks, state.time >= shown[tile].since else { return false }
                shown[tile] = (true, state.time, looks)
            }
        }
        return true
    }

    private mutating func note(missed: [PixelRect], at time: UInt64) {
        let missed = missed.flatMap { tiles(ExactTiles.pixels(of: $0, in: size)) }
        for tile in missed { shown[tile].isExact = false }
        outdated.append((time, missed))
    }
}

/// SplitMix64: a seed repeats a failure.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
