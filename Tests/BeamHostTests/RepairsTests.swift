import BeamClock
import BeamMedia
import Testing

@testable import BeamHost

/// What the thread that repairs is given to do.
@Suite struct RepairsTests {
    private let size = PixelSize(width: 64, height: 48)

    private func picture(_ microseconds: Int64) -> Picture {
        Picture(
            buffer: PixelBuffer(format: .bgrx, size: size), time: MediaTime(nanoseconds: microseconds * 1000),
            damage: DamageRegion(PixelRect(size)))
    }

    /// Since when the screen looks as it is to be hashed, in µs; nil: something else is to be done.
    private func since(_ work: Repairs.Work?) -> UInt64? {
        if case .hash(let since) = work?.job { UInt64(since.nanoseconds / 1000) } else { nil }
    }

    @Test func aPictureIsHashedOnce() throws {
        let repairs = Repairs()
        let now = MediaTime.now
        repairs.setSize(size)
        let first = picture(100)
        _ = repairs.take(first)
        repairs.wantHashes(now: now)
        #expect(since(repairs.next()) == 100)
        let hashes = PictureHashes(size: size, time: 100, since: 100, rows: [1, 2, 3])
        repairs.keep(hashes, of: first.time)
        for _ in 0..<3 {
            repairs.wantHashes(now: now)
            guard case .tell(let told) = repairs.next()?.job else {
                Issue.record("not told again")
                return
            }
            #expect(told == hashes)
        }
        repairs.close()
        #expect(repairs.next() == nil)
    }

    /// However often viewers ask, another picture is hashed a quarter of a second later. What they lack goes first.
    @Test func anotherPictureIsHashedLater() {
        let repairs = Repairs()
        repairs.setSize(size)
        _ = repairs.take(picture(100))
        let now = MediaTime.now
        repairs.wantHashes(now: now)
        #expect(since(repairs.next()) == 100)
        _ = repairs.take(picture(200))
        repairs.wantHashes(now: now)
        repairs.wantHashes(now: now + .milliseconds(200))
        repairs.want([PixelRect(x: 1, y: 1, width: 1, height: 1)])
        guard case .repair(let tiles) = repairs.next()?.job else {
            Issue.record("no repair")
            return
        }
        #expect(tiles == [PixelRect(x: 1, y: 1, width: 1, height: 1)])
        // A picture that looks the same.
        _ = repairs.take(picture(300))
        repairs.looksAsBefore(MediaTime(nanoseconds: 300_000))
        repairs.wantHashes(now: .now + .milliseconds(251))
        #expect(since(repairs.next()) == 200)
        // Of a size that frames don't have, nothing is said.
        repairs.setSize(PixelSize(width: 32, height: 32))
        repairs.wantHashes(now: .now + .seconds(9))
        repairs.close()
        #expect(repairs.next() == nil)
    }

    /// What changes while the rest of a picture is repaired, from one that is asked for to the next.
    @Test func whatHasChangedIsNotRepaired() {
        let repairs = Repairs()
        repairs.setSize(size)
        let left = PixelRect(x: 0, y: 0, width: 32, height: 48)
        let right = PixelRect(x: 32, y: 0, width: 32, height: 48)
        func repair() -> Bool {
            repairs.want([PixelRect(x: 0, y: 0, width: 4, height: 3)])
            if case .repair = repairs.next()?.job { return true }
            return false
        }
        var part = picture(200)
        part.damage = DamageRegion(PixelRect(x: 40, y: 8, width: 3, height: 3))
        _ = repairs.take(picture(100))
        #expect(repair() && repairs.isUnchanged(left) && repairs.isUnchanged(right) && !repairs.isAwaited)
        repairs.want([PixelRect(x: 1, y: 0, width: 1, height: 1)])
        #expect(repairs.isAwaited)
        _ = repairs.take(part)
        #expect(repairs.isUnchanged(left) && !repairs.isUnchanged(right))
        // The next one is of the newer picture.
        #expect(repair() && repairs.isUnchanged(right))
        _ = repairs.take(picture(300))
        #expect(!repairs.isUnchanged(left) && !repairs.isUnchanged(right))
        _ = repairs.take(picture(400))
        #expect(repair() && repairs.isUnchanged(left))
        // A smaller picture.
        repairs.setSize(PixelSize(width: 16, height: 16))
        #expect(!repairs.isUnchanged(left) && !repairs.isUnchanged(right))
        repairs.close()
        #expect(!repairs.isUnchanged(left))
    }
}
