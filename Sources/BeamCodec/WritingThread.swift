import BeamClock
import BeamMedia
import Synchronization

/// A thread that writes what a bounded queue holds, so that nothing else waits for a disk or a pipe.
final class WritingThread<Value: Sendable>: Sendable {
    /// How long `stop` waits for a disk or a pipe that takes nothing.
    private let patience: Duration

    private enum Phase {
        case idle
        case running(StageThread)
        case stopped
    }

    private let queue: BoundedQueue<Value>
    private let phase = Mutex(Phase.idle)
    private let lastProgress = Mutex(MediaTime.zero)

    /// The usual `patience` is longer than a disk takes to spin up.
    init(_ queue: BoundedQueue<Value>, patience: Duration = .seconds(5)) {
        self.queue = queue
        self.patience = patience
    }

    /// Runs `body` on the thread. It takes from the queue until there is no more, and calls `progressed` after each
    /// value.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        phase.withLock { phase in
            guard case .idle = phase else { return }
            phase = .running(StageThread(name, body: body))
        }
    }

    func progressed() { lastProgress.withLock { $0 = .now } }

    enum End { case neverStarted, complete, stuck }

    /// Closes the queue, and waits until everything is written: as long as that makes progress.
    ///
    /// `stuck`: the thread is left behind, in a write that may never return.
    func stop() -> End {
        queue.close()
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        guard case .running(let thread) = before else { return .neverStarted }
        progressed()
        while !thread.join(until: lastProgress.withLock { $0 } + patience) {
            guard lastProgress.withLock({ $0 }) + patience > .now else {
                queue.flush()
                return .stuck
            }
        }
        return .complete
    }
}
