import BeamMedia
import BeamSession
import Testing

@testable import BeamHost

/// What a viewer shows of frames and exact patches that come in any order, late, twice or not at all, in virtual time.
@Suite struct ExactnessTests {
    /// - Parameter dropped: of a hundred patches that arrive, so many are dropped unread by the viewer.
    @Test(arguments: [(0, 0), (10, 0), (50, 0), (10, 20)])
    func nothingOlderIsShownAndAllBecomesExact(lost: Int, dropped: Int) {
        for seed in 0..<25 {
            var world = ExactnessWorld(seed: UInt64(seed * 3 + lost + dropped))
            world.dropped = dropped
            var isRight = true
            for step in 0..<1200 {
                world.now = world.now + .milliseconds(1)
                if step < 700, world.below(4) == 0 { world.change(lost: lost) }
                // Frames come with changes, and one as a keyframe after a loss, as viewers ask for one.
                if step < 760 ? world.below(8) == 0 : step % 50 == 0 { world.sendFrame(lost: step < 700 ? lost : 0) }
                if step % 40 == 0 { world.repair(lost: lost) }
                if step == 760 { world.dropped = 0 }
                isRight = isRight && world.deliver()
            }
            #expect(isRight, "seed \(seed)")
            // With half of the patches lost, eleven tries leave one tile in two thousand.
            if lost < 50 {
                #expect(world.map?.isAllExact == true, "seed \(seed)")
            }
            #expect(world.isAllShown, "seed \(seed)")
            // Without losses most changes are shown by their patches.
            if lost == 0 { #expect(world.shownPatches * 2 > world.sentPatches, "seed \(seed)") }
        }
    }

    /// A move that comes before the change that it moves, and one whose source is only the video's.
    @Test func aMoveWaitsForWhatItMoves() {
        let size = PixelSize(width: 64, height: 64)
        let time = MediaTime(nanoseconds: 5_000_000)
        var map = ExactMap(size, now: time)
        #expect(map.take(.all(of: size, at: 100), now: time) == [])
        let whole = PatchPlan(rects: [PixelRect(size)])
        #expect(map.take(whole, capturedAt: 100, isLast: false, now: time) == .show(moves: false, parts: [whole.rects]))
        let line = PixelRect(x: 3, y: 5, width: 9, height: 20)
        let first = PatchPlan(rects: [line], basis: .init(previous: 100, needed: 100))
        let move = PatchPlan(
            rects: [], move: PixelMove(target: PixelRect(x: 1, y: 1, width: 40, height: 30), dx: 2, dy: 7),
            basis: .init(previous: 50, needed: 50))
        #expect(map.take(move, capturedAt: 250, isLast: false, now: time) == .wait(until: 200))
        #expect(map.take(first, capturedAt: 200, isLast: false, now: time) == .show(moves: false, parts: [[line]]))
        #expect(map.take(move, capturedAt: 250, isLast: false, now: time) == .show(moves: true, parts: []))
        #expect(map.isAllExact)
        // What is moved next has changed meanwhile, as a frame says.
        let change = FrameChanges.Change(rect: PixelRect(x: 16, y: 16, width: 16, height: 16), time: 260)
        #expect(map.take(FrameChanges(captureTime: 270, changes: [change]), now: time) == [change.rect])
        let missed = map.take(move, capturedAt: 320, isLast: false, now: time)
        #expect(missed == .missed([PixelRect(x: 0, y: 0, width: 3, height: 2)]))
        #expect(map.exactCount == 16 - 6)
        // It was waited for in vain.
        let later = PatchPlan(rects: [line], basis: .init(previous: 20, needed: 20))
        #expect(map.take(later, capturedAt: 400, isLast: false, now: time) == .wait(until: 380))
        #expect(
            map.take(later, capturedAt: 400, isLast: true, now: time)
                == .missed([PixelRect(x: 0, y: 0, width: 1, height: 2)]))
    }

    /// A change that the viewer drops: its tiles are outdated at once, and whatever builds on them doesn't wait.
    @Test func aDroppedChangeIsOutdated() {
        let size = PixelSize(width: 64, height: 64)
        let time = MediaTime(nanoseconds: 5_000_000)
        var map = ExactMap(size, now: time)
        _ = map.take(.all(of: size, at: 100), now: time)
        let whole = PatchPlan(rects: [PixelRect(size)])
        _ = map.take(whole, capturedAt: 100, isLast: false, now: time)
        let first = PatchPlan(
            rects: [PixelRect(x: 3, y: 5, width: 9, height: 20)], basis: .init(previous: 100, needed: 100))
        #expect(map.drop(first, capturedAt: 200, now: time) == [PixelRect(x: 0, y: 0, width: 1, height: 2)])
        #expect(map.exactCount == 14 && map.known == 200)
        let next = PatchPlan(
            rects: [PixelRect(x: 20, y: 5, width: 9, height: 2)], basis: .init(previous: 50, needed: 150))
        #expect(map.take(next, capturedAt: 250, isLast: false, now: time) == .show(moves: false, parts: [next.rects]))
        let after = PatchPlan(rects: first.rects, basis: .init(previous: 50, needed: 100))
        let missed = map.take(after, capturedAt: 300, isLast: false, now: time)
        #expect(missed == .missed([PixelRect(x: 0, y: 0, width: 1, height: 2)]))
        // What is shown already isn't outdated by an older change, and of one that can't be read all may be.
        #expect(map.drop(next, capturedAt: 250, now: time) == [])
        #expect(map.drop(nil, capturedAt: 400, now: time) == [PixelRect(x: 0, y: 0, width: 4, height: 4)])
        #expect(map.exactCount == 0 && map.known == 400)
        #expect(map.take(whole, capturedAt: 400, isLast: false, now: time) == .show(moves: false, parts: [whole.rects]))
        // A patch that builds on nothing says nothing of what else has changed.
        #expect(map.drop(whole, capturedAt: 500, now: time) == [PixelRect(x: 0, y: 0, width: 4, height: 4)])
        #expect(map.known == 400)
    }

    @Test func theExactOneOfTwoEquallyNewOnesStays() {
        let size = PixelSize(width: 64, height: 64)
        let time = MediaTime(nanoseconds: 5_000_000)
        var map = ExactMap(size, now: time)
        let rect = PixelRect(x: 16, y: 16, width: 32, height: 16)
        #expect(map.take(.all(of: size, at: 100), now: time) == [])
        #expect(take([rect], &map, at: 99) == [[]])
        #expect(take([rect], &map, at: 200) == [[rect]])
        #expect(take([rect], &map, at: 200) == [[]])
        let same = FrameChanges(captureTime: 250, changes: [FrameChanges.Change(rect: rect, time: 200)])
        #expect(map.take(same, now: time) == [])
        let newer = FrameChanges(
            captureTime: 300,
            changes: [FrameChanges.Change(rect: PixelRect(x: 0, y: 16, width: 32, height: 16), time: 201)])
        #expect(map.take(newer, now: time) == [PixelRect(x: 16, y: 16, width: 16, height: 16)])
        #expect(map.exactCount == 1)
    }

    private func take(_ rects: [PixelRect], _ map: inout ExactMap, at time: UInt64) -> [[PixelRect]]? {
        let verdict = map.take(PatchPlan(rects: rects), capturedAt: time, isLast: false, now: .zero)
        guard case .show(false, let parts) = verdict else { return nil }
        return parts
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
            #expect(take([whole], &map, at: UInt64(count - 1)) == [[whole]])
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
        #expect(
            !repairs.take(picture)
                && !repairs.isNewest(Picture(buffer: PixelBuffer(format: .bgrx, size: size), time: picture.time)))
        repairs.setSize(size)
        #expect(repairs.take(picture))
        let far = PixelRect(x: 65_000, y: 65_000, width: 500, height: 500)
        repairs.want([
            far, PixelRect(x: 5, y: 1, width: 65_535, height: 65_535), PixelRect(x: 5, y: 1, width: 1, height: 1),
        ])
        for _ in 0..<1000 { repairs.want([PixelRect](repeating: far, count: 31)) }
        if case .repair(let tiles) = repairs.next()?.job {
            #expect(tiles == [PixelRect(x: 5, y: 1, width: 2, height: 2)])
        } else {
            Issue.record("there is nothing to repair")
        }
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

    /// A keyframe is also for those who have missed frames: it names all changes that are known one by one, and for the
    /// rest when the last of them was.
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

    /// A frame can name each change if it comes soon after the log has said that it fills.
    @Test func aLogSaysThatItFills() {
        let size = PixelSize(width: 1280, height: 360)
        var log = ChangeLog()
        func time(_ microseconds: Int) -> MediaTime { MediaTime(nanoseconds: Int64(microseconds) * 1000) }
        log.add(DamageRegion(PixelRect(size)), of: size, at: time(1))
        _ = log.take(at: time(1), of: size, isContinued: false)
        var count = 0
        while !log.isFilling, count < FrameChanges.most {
            // Always the same place counts once.
            for x in [16 * count, 0] {
                log.add(DamageRegion(PixelRect(x: x, y: 0, width: 16, height: 16)), of: size, at: time(2 + count))
            }
            count += 1
        }
        #expect(count > FrameChanges.most / 4 && count < FrameChanges.most)
        let said = log.take(at: time(100), of: size, isContinued: true)
        #expect(said.changes.count == count)
        #expect(said.changes.allSatisfy { $0.rect.area == 256 })
        #expect(!log.isFilling)
    }
}
