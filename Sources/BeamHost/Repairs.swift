import BeamClock
import BeamMedia
import BeamWire
import Synchronization

/// What the thread that repairs has to do: the newest picture, what viewers lack of it, and whether they want its hashes.
/// Several threads use it; the lock is held for some assignments only.
final class Repairs: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var size: PixelSize?
    private var newest: Picture?
    /// Since when the screen looks like the newest picture, and like the one before it.
    private var since = (newest: MediaTime.zero, before: MediaTime.zero)
    /// Hashes of the newest picture are wanted; which were made last, and of which picture; and when it was last begun.
    private var wantsHashes = false
    private var hashed: (hashes: PictureHashes, picture: MediaTime)?
    private var hashingBegan: MediaTime?
    private var wanted: [PixelRect] = []
    /// What has changed since the picture that is being repaired.
    private var changed = DamageRegion()
    private var isPausing = false
    private var isClosed = false

    /// The most rectangles that are kept. Viewers ask again for what they lack.
    private static let mostWanted = 1024
    /// From one picture that is hashed to the next, whatever viewers ask for. They ask again.
    private static let hashPause = Duration.milliseconds(250)

    /// More than any picture has.
    private static let everything = DamageRegion(PixelRect(x: 0, y: 0, width: 1 << 20, height: 1 << 20))

    struct Work {
        var picture: Picture
        var job: Job
    }

    enum Job {
        /// Rectangles of tiles inside the picture that don't overlap.
        case repair([PixelRect])
        /// The screen has looked like the picture since then.
        case hash(since: MediaTime)
        /// The same hashes as before.
        case tell(PictureHashes)
    }

    /// Frames of pictures of that size say what they change; nil: frames don't.
    func setSize(_ size: PixelSize?) {
        condition.withLock {
            guard size != self.size else { return }
            self.size = size
            wanted.removeAll()
            changed = Self.everything
        }
    }

    /// Keeps the newest picture. False if frames don't say what pictures like this one change.
    func take(_ picture: Picture) -> Bool {
        condition.withLock {
            // Also for viewers who come later, while nothing changes.
            since = (picture.time, since.newest)
            if let newest, newest.size != picture.size { changed = Self.everything }
            newest = picture
            changed.formUnion(picture.damage)
            return size == picture.size
        }
    }

    /// The newest picture, captured then, looks like the one before it.
    func looksAsBefore(_ time: MediaTime) {
        condition.withLock { if newest?.time == time { since.newest = since.before } }
    }

    /// Somebody has all tiles exactly, and wants to compare.
    func wantHashes(now: MediaTime) {
        condition.withLock {
            guard let size, let newest, newest.size == size else { return }
            let isKnown = hashed?.picture == newest.time
            if !isKnown, let hashingBegan, now - hashingBegan < Self.hashPause { return }
            wantsHashes = true
            if !isPausing { condition.signal() }
        }
    }

    /// These are the hashes of the picture that was captured then.
    func keep(_ hashes: PictureHashes, of picture: MediaTime) { condition.withLock { hashed = (hashes, picture) } }

    /// Somebody lacks these rectangles of tiles. Nothing is known of them: they may lie anywhere.
    func want(_ tiles: [PixelRect]) {
        condition.withLock {
            guard let size, newest?.size == size, wanted.count + tiles.count <= Self.mostWanted else { return }
            wanted += tiles
            if !isPausing { condition.signal() }
        }
    }

    /// Waits for work; nil: there is none any more.
    func next() -> Work? {
        while true {
            let work: Work? = condition.withLock {
                while !isClosed {
                    if let newest, newest.size == size, let job = takeJob(newest) {
                        return Work(picture: newest, job: job)
                    }
                    condition.wait()
                }
                (newest, hashed) = (nil, nil)
                return nil
            }
            guard var work else { return nil }
            guard case .repair(let asked) = work.job else { return work }
            // Without the lock: what is asked for may be large.
            let tiles = ExactTiles.joined(asked, in: ExactTiles.grid(work.picture.size))
            work.job = .repair(tiles)
            if !tiles.isEmpty { return work }
        }
    }

    /// With the lock.
    private func takeJob(_ newest: Picture) -> Job? {
        if !wanted.isEmpty {
            defer { wanted.removeAll(keepingCapacity: true) }
            changed = DamageRegion()
            return .repair(wanted)
        }
        guard wantsHashes else { return nil }
        wantsHashes = false
        if var hashes = hashed?.hashes, hashed?.picture == newest.time, hashes.size == newest.size {
            // It may have turned out since that nothing had changed.
            hashes.since = since.newest.microseconds
            return .tell(hashes)
        }
        hashingBegan = .now
        return .hash(since: since.newest)
    }

    /// Whether the screen still looks like this.
    func isNewest(_ picture: Picture) -> Bool {
        condition.withLock { !isClosed && newest?.buffer === picture.buffer && newest?.time == picture.time }
    }

    /// Whether a part of the picture that is being repaired is still so. What isn't is asked for again. A picture of another
    /// size has changed everywhere.
    func isUnchanged(_ rect: PixelRect) -> Bool {
        condition.withLock { !isClosed && changed.rects.allSatisfy { $0.intersection(rect).isEmpty } }
    }

    /// Something is wanted beside what is being repaired.
    var isAwaited: Bool { condition.withLock { !wanted.isEmpty } }

    /// Waits for that time, or until all ends.
    func pause(_ time: Duration) {
        let end = MediaTime.now + time
        condition.withLock {
            isPausing = true
            while !isClosed, condition.wait(until: end) {}
            isPausing = false
        }
    }

    func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }
}

/// What viewers lack or want to compare: from the network, which is made before the stage that answers.
final class RepairWish: Sendable {
    enum Wish: Sendable {
        /// These rectangles of tiles.
        case tiles([PixelRect])
        case hashes
    }

    private let follower = Mutex<(@Sendable (Wish) -> Void)?>(nil)

    func tell(_ wish: Wish) { follower.withLock { $0 }?(wish) }

    func follow(_ follower: @escaping @Sendable (Wish) -> Void) { self.follower.withLock { $0 = follower } }
}
