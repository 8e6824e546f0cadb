import BeamMedia

/// Keeps a job running at BlueZ while it is wanted. A job that BlueZ refuses or ends is started again after growing
/// pauses; one that isn't wanted any more is stopped. Used on the loop's thread only.
final class AdapterTask<Job: Equatable> {
    private enum State {
        case idle
        /// Waits for BlueZ's answer.
        case starting(Job)
        case running(Job)
        case stopping
        /// BlueZ has refused the job, or has ended it.
        case pausing(BusTimer)
    }

    struct Handlers {
        /// Asks BlueZ, and passes on whether the job runs.
        var start: (Job, _ onAnswer: @escaping (Bool) -> Void) -> Void
        var stop: (Job, _ onAnswer: @escaping () -> Void) -> Void
    }

    private let loop: BusLoop
    private let handlers: Handlers
    private var pause: GrowingPause
    private var state = State.idle
    /// Nil: none is to run.
    var wanted: Job? { didSet { if wanted != oldValue { drive() } } }

    init(_ loop: BusLoop, longestPause: Duration, _ handlers: Handlers) {
        self.loop = loop
        self.handlers = handlers
        pause = GrowingPause(first: .seconds(2), longest: longestPause)
    }

    /// BlueZ has a job, or is about to.
    var isBusy: Bool {
        switch state {
        case .idle, .pausing: false
        case .starting, .running, .stopping: true
        }
    }

    /// What BlueZ is starting or running.
    var current: Job? {
        switch state {
        case .starting(let job), .running(let job): job
        case .idle, .stopping, .pausing: nil
        }
    }

    /// Another adapter is tried at once.
    func endPause() {
        pause.reset()
        if case .pausing = state { state = .idle }
        drive()
    }

    /// BlueZ has gone, and everything that it did for this program.
    func lost() {
        pause.reset()
        state = .idle
        wanted = nil
    }

    /// BlueZ has ended the job.
    func ended() {
        if case .running = state { retryLater() }
    }

    private func drive() {
        switch state {
        case .idle:
            if let wanted { start(wanted) }
        case .running(let job):
            if job != wanted { stop(job) }
        case .pausing:
            if wanted == nil { state = .idle }
        case .starting, .stopping:
            // Continues when BlueZ has answered.
            break
        }
    }

    private func start(_ job: Job) {
        state = .starting(job)
        handlers.start(job) { [weak self] isRunning in
            guard let self, case .starting = state else { return }
            guard isRunning else { return retryLater() }
            state = .running(job)
            pause.reset()
            drive()
        }
    }

    private func stop(_ job: Job) {
        state = .stopping
        handlers.stop(job) { [weak self] in
            guard let self, case .stopping = state else { return }
            state = .idle
            drive()
        }
    }

    private func retryLater() {
        state = .pausing(
            loop.timer(after: pause.next()) { [weak self] in
                guard let self else { return }
                state = .idle
                drive()
            })
    }
}
