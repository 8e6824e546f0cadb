import BeamClock
import BeamMedia
import CLateLibraries
import Glibc
import Synchronization

/// Work with D-Bus, all on the thread of its loop.
protocol BusWork: AnyObject, SendableMetatype {
    func begin()
    /// Begins to say goodbye to services. No event may be reported from now on.
    func end()
    /// The services have answered the goodbye.
    var hasEnded: Bool { get }
}

/// A thread with a `BusLoop` and its work.
final class BusRunner<Work: BusWork>: Sendable {
    /// How long services may take to answer the goodbye.
    private static var patience: Duration { .seconds(1) }
    /// How long `stop` waits for the thread: also for an event's receiver.
    private static var stopTimeout: Duration { .seconds(3) }

    private let shared: Shared<Work>
    private let name: String
    private let body: @Sendable () -> Void
    /// Nil until `start`.
    private let thread = Mutex<StageThread?>(nil)

    /// Doesn't start the thread yet.
    ///
    /// - Parameters:
    ///   - name: of the thread, at most 15 bytes.
    ///   - isLibraryThere: loads libsystemd; called on the thread, and only if a bus has an address.
    ///   - make: called on the thread.
    init(
        _ name: String, isLibraryThere: @escaping @Sendable () -> Bool = { beam_load_libsystemd() == nil },
        make: @escaping @Sendable (BusLoop) -> Work
    ) {
        let shared = Shared<Work>()
        self.shared = shared
        self.name = name
        body = {
            shared.state.withLock { $0.thread = pthread_self() }
            let loop = BusLoop(wake: shared.wake, isLibraryThere: isLibraryThere) {
                shared.state.withLock { $0.isStopping }
            }
            let work = make(loop)
            work.begin()
            while true {
                let (jobs, isStopping) = shared.take()
                for job in jobs { job(work) }
                if isStopping { break }
                loop.turn()
            }
            work.end()
            let deadline = MediaTime.now + Self.patience
            while !work.hasEnded, MediaTime.now < deadline { loop.turn(until: deadline) }
            loop.close()
        }
    }

    /// Starts the thread, if nobody has.
    func start() {
        let isFirst = shared.state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { return }
        let thread = StageThread(name, body: body)
        self.thread.withLock { $0 = thread }
    }

    /// Runs `job` on the thread, after those before it.
    func perform(_ job: @escaping @Sendable (Work) -> Void) {
        shared.state.withLock { $0.jobs.append(job) }
        shared.wake.set()
    }

    /// Ends the work, and waits for that: usually some milliseconds, at most 3 s. Called on the thread itself, it
    /// doesn't wait.
    func stop() {
        let isInside = shared.state.withLock { state in
            state.isStopping = true
            return state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        shared.wake.set()
        if !isInside { _ = thread.withLock { $0 }?.join(until: .now + Self.stopTimeout) }
    }
}

/// What the thread and others exchange.
private final class Shared<Work: BusWork>: Sendable {
    struct State {
        var jobs: [@Sendable (Work) -> Void] = []
        var isStarted = false
        var isStopping = false
        var thread: pthread_t?
    }

    let state = Mutex(State())
    let wake = WakeSignal()

    func take() -> (jobs: [@Sendable (Work) -> Void], isStopping: Bool) {
        state.withLock { state in
            defer { state.jobs = [] }
            return (state.jobs, state.isStopping)
        }
    }
}
