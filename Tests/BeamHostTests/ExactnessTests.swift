import BeamMedia
import BeamSession
import Testing

@testable import BeamHost

/// What a viewer shows of frames and exact patches that come in any order, late, twice or not at all, in virtual time.
///
/// The host's part is the real `ChangeLog`, the viewer's the real `ExactMap`; between them is a model of a screen whose
/// tiles have versions.
@Suite struct ExactnessTests {
    /// A screen whose tiles change, a host that sends patches and frames, and what its viewer shows.
    private struct World {
        let size = PixelSize(width: 200, height: 120)
        var random: SplitMix
        var now = MediaTime(nanoseconds: 1_000_000_000)
        var log = ChangeLog()
        /// For each tile, the times of its changes in µs, the last one last.
        var history: [[UInt64]]
        var map: ExactMap?
        /// For each tile: whether what is shown is exact, and the version that is shown: the time of its change.
        var shown: [(isExact: Bool, version: UInt64)]
        var patches: [(due: MediaTime, rects: [PixelRect], time: UInt64)] = []
        var frames: [(due: MediaTime, changes: FrameChanges, isKeyframe: Bool)] = []
        var lastFrameDue = MediaTime.zero
        var isContinued = false
        var missesFrames = false

        var across: Int { ExactTiles.across(size) }

        init(seed: UInt64) {
            random = SplitMix(state: seed)
            let count = ExactTiles.across(size) * ExactTiles.down(size)
            history = Array(repeating: [1_000_000], count: count)
            shown = Array(repeating: (false, 0), count: count)
            log.add(DamageRegion(PixelRect(size)), of: size, at: now)
        }

        mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

        func tiles(_ rect: PixelRect) -> [Int] {
            let tiles = ExactTiles.touched(by: rect)
            return (tiles.y..<tiles.maxY).flatMap { row in (tiles.x..<tiles.maxX).map { row * across + $0 } }
        }

        /// The version that the tile had at `time`.
        func version(_ tile: Int, at time: UInt64) -> UInt64 { history[tile].last { $0 <= time } ?? 0 }

        mutating func change() -> DamageRegion {
            var damage = DamageRegion()
            for _ in 0...below(3) {
                let (x, y) = (below(size.width), below(size.height))
                damage.insert(
                    PixelRect(x: x, y: y, width: 1 + below(60), height: 1 + below(40)).intersection(PixelRect(size)))
            }
            log.add(damage, of: size, at: now)
            let time = UInt64(now.nanoseconds / 1000)
            for tile in Set(damage.rects.flatMap { tiles($0) }) { history[tile].append(time) }
            return damage
        }

        mutating func sendPatch(_ damage: DamageRegion, lost: Int) {
            let rects = damage.rects.map { ExactTiles.pixels(of: ExactTiles.touched(by: $0), in: size) }
            for _ in 0...(below(4) == 0 ? 1 : 0) where below(100) >= lost {
                let due = now + .microseconds(100 + below(30_000))
                patches.append((due, rects, UInt64(now.nanoseconds / 1000)))
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
            let said =
                missesFrames && !isKeyframe ? FrameChanges.all(of: size, at: changes.captureTime) : changes
            missesFrames = false
            lastFrameDue = max(lastFrameDue, now + .microseconds(2000 + below(20_000)))
            frames.append((lastFrameDue, said, isKeyframe))
        }

        /// Shows what has arrived. False: something older than before was shown, or what counts as exact isn't.
        mutating func deliver() -> Bool {
            while let index = frames.indices.first, frames[index].due <= now {
                let frame = frames.removeFirst()
                if map == nil { map = ExactMap(size, now: now) }
                let lost = Set(map?.take(frame.changes, now: now).flatMap { tiles($0) } ?? [])
                for tile in shown.indices where !shown[tile].isExact || lost.contains(tile) {
                    guard show(tile, version(tile, at: frame.changes.captureTime), isExact: false) else {
                        return false
                    }
                }
            }
            for patch in patches where patch.due <= now {
                guard let parts = map?.takePatch(patch.rects, capturedAt: patch.time) else { continue }
                for tile in Set(parts.joined().flatMap { tiles($0) }) {
                    guard show(tile, version(tile, at: patch.time), isExact: true) else { return false }
                }
            }
            patches.removeAll { $0.due <= now }
            return map.map { map in
                Set(map.inexact(in: [PixelRect(size)]).flatMap { tiles($0) })
                    == Set(shown.indices.filter { !shown[$0].isExact })
            } ?? true
        }

        private mutating func show(_ tile: Int, _ version: UInt64, isExact: Bool) -> Bool {
            guard version >= shown[tile].version else { return false }
            shown[tile] = (isExact, version)
            return true
        }

        /// The viewer asks for what it lacks, and the host answers.
        mutating func repair(lost: Int) {
            guard let map else { return }
            for wanted in map.lacking(for: .milliseconds(80), most: 31, now: now) {
                let rect = ExactTiles.pixels(of: wanted, in: size)
                sendPatch(DamageRegion(rect), lost: lost)
            }
        }
    }

    @Test(arguments: [0, 10, 50]) func nothingOlderIsShownAndAllBecomesExact(lost: Int) {
        for seed in 0..<25 {
            var world = World(seed: UInt64(seed * 3 + lost))
            var isRight = true
            for step in 0..<1200 {
                world.now = world.now + .milliseconds(1)
                if step < 700, world.below(4) == 0 {
                    let damage = world.change()
                    if world.below(3) > 0 { world.sendPatch(damage, lost: lost) }
                }
                // Frames come with changes, and one as a keyframe after a loss, as viewers ask for one.
                if step < 760 ? world.below(8) == 0 : step % 50 == 0 { world.sendFrame(lost: step < 700 ? lost : 0) }
                if step % 40 == 0 { world.repair(lost: lost) }
                isRight = isRight && world.deliver()
            }
            #expect(isRight, "seed \(seed)")
            // With half of the patches lost, eleven tries leave one tile in two thousand.
            if lost < 50 {
                #expect(world.map?.isAllExact == true, "seed \(seed)")
            }
            let end = UInt64(world.now.nanoseconds / 1000)
            #expect(world.shown.indices.allSatisfy { world.shown[$0].version == world.version($0, at: end) })
        }
    }

    @Test func theExactOneOfTwoEquallyNewOnesStays() {
        let size = PixelSize(width: 64, height: 64)
        let time = MediaTime(nanoseconds: 5_000_000)
        var map = ExactMap(size, now: time)
        let rect = PixelRect(x: 16, y: 16, width: 32, height: 16)
        #expect(map.take(.all(of: size, at: 100), now: time) == [])
        #expect(map.takePatch([rect], capturedAt: 99) == [[]])
        #expect(map.takePatch([rect], capturedAt: 200) == [[rect]])
        #expect(map.takePatch([rect], capturedAt: 200) == [[]])
        let same = FrameChanges(captureTime: 250, changes: [FrameChanges.Change(rect: rect, time: 200)])
        #expect(map.take(same, now: time) == [])
        let newer = FrameChanges(
            captureTime: 300,
            changes: [FrameChanges.Change(rect: PixelRect(x: 0, y: 16, width: 32, height: 16), time: 201)])
        #expect(map.take(newer, now: time) == [PixelRect(x: 16, y: 16, width: 16, height: 16)])
        #expect(map.exactCount == 1)
    }

    /// A host that names the whole screen again and again, to keep the viewer busy.
    @Test func changesOfManyPicturesAreOne() {
        let size = PixelSize(width: 64, height: 64)
        let time = MediaTime(nanoseconds: 0)
        let whole = PixelRect(size)
        func said(_ count: Int) -> FrameChanges {
            FrameChanges(
                captureTime: 100, changes: (0..<count).map { FrameChanges.Change(rect: whole, time: UInt64($0)) })
        }
        for count in [7, 8, 63] {
            var map = ExactMap(size, now: time)
            #expect(map.takePatch([whole], capturedAt: UInt64(count - 1)) == [[whole]])
            // The last change isn't newer than the patch, so that nothing is lost, however it is said.
            #expect(map.take(said(count), now: time) == [] && map.isAllExact)
            #expect(map.take(said(count + 1), now: time) == [whole] && map.exactCount == 0, "\(count)")
        }
    }

    @Test func whatIsWantedIsJoinedInsideThePicture() {
        let repairs = Repairs()
        let size = PixelSize(width: 100, height: 40)
        let picture = Picture(buffer: PixelBuffer(format: .bgrx, size: size), time: MediaTime(nanoseconds: 1))
        repairs.want([PixelRect(x: 0, y: 0, width: 1, height: 1)])
        #expect(!repairs.take(picture))
        repairs.setSize(size)
        #expect(repairs.take(picture))
        let far = PixelRect(x: 65_000, y: 65_000, width: 500, height: 500)
        repairs.want([
            far, PixelRect(x: 5, y: 1, width: 65_535, height: 65_535), PixelRect(x: 5, y: 1, width: 1, height: 1),
        ])
        for _ in 0..<1000 { repairs.want([PixelRect](repeating: far, count: 31)) }
        #expect(repairs.next()?.tiles == [PixelRect(x: 5, y: 1, width: 2, height: 2)])
        #expect(repairs.isNewest(picture))
        repairs.close()
        #expect(repairs.next() == nil && !repairs.isNewest(picture))
    }

    @Test func whatChangesAllTheTimeIsNotAskedFor() {
        let size = PixelSize(width: 64, height: 64)
        var time = MediaTime(nanoseconds: 0)
        var map = ExactMap(size, now: time)
        let film = FrameChanges.Change(rect: PixelRect(x: 0, y: 0, width: 32, height: 32), time: 0)
        for step in 1...20 {
            time = time + .milliseconds(16)
            var change = film
            change.time = UInt64(step)
            _ = map.take(FrameChanges(captureTime: UInt64(step), changes: [change]), now: time)
        }
        let wanted = map.lacking(for: .milliseconds(80), most: 31, now: time)
        #expect(wanted.reduce(0) { $0 + $1.area } == 12)
        #expect(wanted.allSatisfy { $0.intersection(PixelRect(x: 0, y: 0, width: 2, height: 2)).isEmpty })
    }

    /// A keyframe is also for those who have missed frames: it names all changes that are known one by one, and for the rest
    /// when the last of them was.
    @Test func aKeyframeSaysWhenAllHasChanged() {
        let size = PixelSize(width: 1600, height: 1600)
        var log = ChangeLog()
        func time(_ microseconds: Int) -> MediaTime { MediaTime(nanoseconds: Int64(microseconds) * 1000) }
        log.add(DamageRegion(PixelRect(size)), of: size, at: time(10))
        for step in 0..<100 {
            log.add(
                DamageRegion(PixelRect(x: 16 * step, y: 0, width: 3, height: 3)), of: size, at: time(20 + step))
        }
        let first = log.take(at: time(200), of: size, isContinued: true)
        // More changes than are named: as if frames were missing.
        #expect(first.changes.count == FrameChanges.most)
        #expect(first.changes.first == FrameChanges.Change(rect: PixelRect(size), time: 56))
        #expect(first.changes.last?.rect == PixelRect(x: 16 * 99, y: 0, width: 16, height: 16))
        log.add(DamageRegion(PixelRect(x: 5, y: 5, width: 20, height: 2)), of: size, at: time(210))
        let next = log.take(at: time(220), of: size, isContinued: true)
        #expect(
            next.changes == [
                FrameChanges.Change(rect: PixelRect(x: 0, y: 0, width: 32, height: 16), time: 210)
            ])
        #expect(log.take(at: time(230), of: size, isContinued: true).changes.isEmpty)
        #expect(log.take(at: time(240), of: size, isContinued: false).changes.count == FrameChanges.most)
        #expect(log.take(at: time(250), of: PixelSize(width: 8, height: 8), isContinued: true).changes.count == 1)
    }
}

/// SplitMix64: a seed repeats a failure.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
