import BeamClock
import BeamMedia
import Synchronization

/// What the thread that repairs has to do: the newest picture, and what viewers lack of it. Several threads use it; the
/// lock is held for some assignments only.
final class Repairs: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var size: PixelSize?
    private var newest: Picture?
    private var wanted: [PixelRect] = []
    private var isPausing = false
    private var isClosed = false

    /// The most rectangles that are kept. Viewers ask again for what they lack.
    private static let mostWanted = 1024

    struct Work {
        var picture: Picture
        /// Rectangles of tiles inside the picture that don't overlap.
        var tiles: [PixelRect]
    }

    /// Frames of pictures of that size say what they change; nil: frames don't.
    func setSize(_ size: PixelSize?) {
        condition.withLock {
            guard size != self.size else { return }
            self.size = size
            wanted.removeAll()
        }
    }

    /// Keeps the newest picture. False if frames don't say what pictures like this one change.
    func take(_ picture: Picture) -> Bool {
        condition.withLock {
            // Also for viewers who come later, while nothing changes.
            newest = picture
            // A repair that is under way ends.
            if isPausing { condition.signal() }
            return size == picture.size
        }
    }

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
            let asked: (picture: Picture, tiles: [PixelRect])? = condition.withLock {
                while !isClosed {
                    if !wanted.isEmpty, let newest, newest.size == size {
                        defer { wanted.removeAll(keepingCapacity: true) }
                        return (newest, wanted)
                    }
                    condition.wait()
                }
                newest = nil
                return nil
            }
            guard let asked else { return nil }
            // Without the lock: what is asked for may be large.
            let tiles = ExactTiles.joined(asked.tiles, in: ExactTiles.grid(asked.picture.size))
            if !tiles.isEmpty { return Work(picture: asked.picture, tiles: tiles) }
        }
    }

    /// Whether the screen still looks like this. What is wanted of it otherwise will be asked for again.
    func isNewest(_ picture: Picture) -> Bool {
        condition.withLock { !isClosed && newest?.buffer === picture.buffer && newest?.time == picture.time }
    }

    /// Waits for that time, or until the screen changes or all ends.
    func pause(_ time: Duration) {
        let end = MediaTime.now + time
        condition.withLock {
            let picture = newest?.time
            isPausing = true
            while !isClosed, newest?.time == picture, condition.wait(until: end) {}
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

/// What viewers lack: from the network, which is made before the stage that answers.
final class RepairWish: Sendable {
    private let follower = Mutex<(@Sendable ([PixelRect]) -> Void)?>(nil)

    func tell(_ tiles: [PixelRect]) { follower.withLock { $0 }?(tiles) }

    func follow(_ follower: @escaping @Sendable ([PixelRect]) -> Void) { self.follower.withLock { $0 = follower } }
}
