import BeamMedia
import Dispatch
import Synchronization

/// Runs commands of the person's when something happens, each with the event on its standard input.
///
/// One command runs at a time, in the order of the events, by a thread of its own: nothing waits for them but the program's
/// end, and that for a bounded time.
public final class Hooks: Sendable {
    /// When a command is run.
    public enum Moment: String, Sendable, CaseIterable {
        /// Sharing begins, or a room is entered.
        case start
        /// Somebody begins to watch, or comes into the room.
        case join
        case leave
        case stop

        /// The option that names its command.
        public var option: String { "--on-\(rawValue)" }
    }

    /// What bounds the commands.
    struct Limits: Sendable {
        /// For each command.
        var time = Duration.seconds(30)
        /// For all that are still to be run when the program ends.
        var timeAtEnd = Duration.seconds(10)
        /// How many wait at most; the last one of the program always does.
        var waiting = 100
    }

    private struct Order {
        var moment: Moment
        var event: [UInt8]
    }

    private struct State {
        /// Each is given to the shell.
        var commands: [Moment: String]
        var waiting: [Order] = []
        /// A thread works on them.
        var isRunning = false
        var leftOut = 0
        /// By then the last command has to have ended; nil: the program goes on.
        var end: ContinuousClock.Instant?
        var waiters: [DispatchSemaphore] = []
    }

    private let limits: Limits
    private let say: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "beamroom.hooks")
    private let state: Mutex<State>

    /// - Parameters:
    ///   - commands: each is given to the shell.
    ///   - say: tells the person what went wrong; called on any thread.
    public convenience init(_ commands: [Moment: String], say: @escaping @Sendable (String) -> Void) {
        self.init(commands, limits: Limits(), say: say)
    }

    init(_ commands: [Moment: String], limits: Limits, say: @escaping @Sendable (String) -> Void) {
        state = Mutex(State(commands: commands))
        self.limits = limits
        self.say = say
    }

    /// Whether there is a command for this.
    func wants(_ moment: Moment) -> Bool { state.withLock { $0.commands[moment] != nil } }

    /// What is run from now on.
    func setCommands(_ commands: [Moment: String]) { state.withLock { $0.commands = commands } }

    /// Has the command of `moment` run with this event, a JSON object and a newline. Doesn't wait.
    func add(_ moment: Moment, event: [UInt8]) {
        guard wants(moment) else { return }
        let begins = state.withLock { state in
            guard state.end == nil else { return false }
            guard state.waiting.count < limits.waiting || moment == .stop else {
                state.leftOut += 1
                return false
            }
            state.waiting.append(Order(moment: moment, event: event))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { queue.async { self.work() } }
    }

    /// Waits a bounded time for the commands that are still to be run. Later ones aren't run.
    func close() {
        let end = ContinuousClock.now + limits.timeAtEnd
        let done = DispatchSemaphore(value: 0)
        let isWaiting = state.withLock { state in
            state.end = state.end ?? end
            guard state.isRunning else { return false }
            state.waiters.append(done)
            return true
        }
        if isWaiting { done.wait() }
    }

    // MARK: On the queue

    private func work() {
        while let order = next() {
            guard let command = state.withLock({ $0.commands[order.moment] }) else { continue }
            let limit = limits.time
            let start = ContinuousClock.now
            let outcome = HookProcess.run(command, input: order.event) {
                let end = self.state.withLock { $0.end }
                return ContinuousClock.now >= min(start + limit, end ?? start + limit)
            }
            if let words = Self.words(outcome, order.moment, ContinuousClock.now - start) { say(words) }
        }
    }

    /// The next command; nil: there is none, and this thread ends.
    private func next() -> Order? {
        let (order, leftOut, waiters) = state.withLock { state -> (Order?, Int, [DispatchSemaphore]) in
            // At the program's end, what can't be run any more is left out.
            if let end = state.end, ContinuousClock.now >= end {
                state.leftOut += state.waiting.count
                state.waiting = []
            }
            if !state.waiting.isEmpty { return (state.waiting.removeFirst(), 0, []) }
            defer { (state.isRunning, state.leftOut, state.waiters) = (false, 0, []) }
            return (nil, state.leftOut, state.waiters)
        }
        if leftOut > 0 {
            say(
                "Warning: \(leftOut) commands weren't run, because those before them took too long. Put & behind what may go on beside others."
            )
        }
        for waiter in waiters { waiter.signal() }
        return order
    }

    private static func words(_ outcome: HookProcess.Outcome, _ moment: Moment, _ time: Duration) -> String? {
        let subject = "Warning: The command of \(moment.option)"
        switch outcome {
        case .ended(0, _): return nil
        case .ended(let status, let words):
            let ending = status < 0 ? "was ended by signal \(-status)" : "has failed with status \(status)"
            return words.isEmpty ? "\(subject) \(ending)." : "\(subject) \(ending): \(words)"
        case .overdue:
            return
                "\(subject) was ended after \(Int(time.inSeconds.rounded())) s. Put & behind what should go on."
        case .notStarted(let reason): return "\(subject) couldn't be started: \(reason)."
        }
    }
}

extension ProgramEvent {
    /// At which moment of a person's commands this is; nil: at none.
    var moment: Hooks.Moment? {
        switch self {
        case .share(.ready), .room(.ready): .start
        case .pairing(.letIn(_, session: _, isResumed: false)), .room(.changed(_, .came)): .join
        case .pairing(.left), .room(.changed(_, .left)): .leave
        case .share(.summary), .room(.summary): .stop
        default: nil
        }
    }
}
