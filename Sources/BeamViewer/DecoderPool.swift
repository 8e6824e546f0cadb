import BeamMedia

/// Decodes one frame at a time of one stream.
protocol PooledStage: AnyObject {
    /// Decodes the next queued frame. False: there is none.
    func step() -> Bool
}

/// A few threads that decode the frames of any number of streams: one frame of each in turn.
///
/// A stream's frames are decoded one after another, on whichever thread is free. More threads than processors wouldn't be
/// faster, and each would take memory and time to switch to.
final class DecoderPool: @unchecked Sendable {
    // Sendable: `ready`, `isClosed` and each lane's fields are read and written under `condition`'s lock only; a lane's
    // stage is used without it by the one thread that has set `isRunning`.
    private let condition = MonotonicCondition()
    /// Lanes that have been scheduled and wait for a thread.
    private var ready: [Lane] = []
    private var isClosed = false
    private var threads: [StageThread] = []

    /// A stream's place in the pool.
    final class Lane: @unchecked Sendable {
        // Sendable: see the pool.
        fileprivate let stage: any PooledStage
        fileprivate var isWaiting = false
        fileprivate var isRunning = false
        /// A frame was queued since the last step began.
        fileprivate var isDue = false

        fileprivate init(_ stage: sending any PooledStage) { self.stage = stage }
    }

    init(threads count: Int) {
        threads = (0..<max(1, count)).map { _ in StageThread("beam-decode") { [unowned self] in run() } }
    }

    deinit { stop() }

    func addLane(_ stage: sending any PooledStage) -> Lane {
        let lane = Lane(stage)
        // Frames may have been queued before.
        schedule(lane)
        return lane
    }

    /// The lane's stage has something to do.
    func schedule(_ lane: Lane) {
        condition.withLock {
            guard !isClosed else { return }
            lane.isDue = true
            makeReady(lane)
        }
    }

    private func makeReady(_ lane: Lane) {
        guard lane.isDue, !lane.isWaiting, !lane.isRunning else { return }
        lane.isWaiting = true
        ready.append(lane)
        condition.broadcast()
    }

    /// Returns when the stage has nothing to do any more. Nothing may be queued for it meanwhile.
    func finish(_ lane: Lane) {
        condition.withLock {
            while lane.isWaiting || lane.isRunning || lane.isDue, !isClosed { condition.wait() }
        }
    }

    /// Returns when the threads have ended. Frames that are still queued aren't decoded.
    func stop() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
        for thread in threads { thread.join() }
    }

    private func run() {
        while let lane = next() {
            let hasMore = lane.stage.step()
            condition.withLock {
                lane.isRunning = false
                if hasMore { lane.isDue = true }
                makeReady(lane)
                // `finish` may wait for this.
                if !lane.isWaiting { condition.broadcast() }
            }
        }
    }

    private func next() -> Lane? {
        condition.withLock {
            while ready.isEmpty {
                if isClosed { return nil }
                condition.wait()
            }
            guard !isClosed else { return nil }
            let lane = ready.removeFirst()
            lane.isWaiting = false
            lane.isRunning = true
            lane.isDue = false
            return lane
        }
    }
}
