import BeamMedia

/// Decides when a viewer's control connection is opened, given up and retried.
struct ViewerControl: Sendable {
    enum State: Sendable {
        case idle
        case connecting(giveUp: MediaTime)
        /// The handshake was sent; the host decides.
        case deciding(giveUp: MediaTime)
        case paired(since: MediaTime, nextHeartbeat: MediaTime, lastLine: MediaTime)
        /// Waiting for the next attempt.
        case waiting(until: MediaTime)
        /// The person has to type the host's code before the next attempt.
        case needsCode
        /// Refused, or shut down.
        case ended
    }

    enum Action: Hashable, Sendable {
        case connect(attempt: Int)
        case close
        case sendHandshake
        case sendHeartbeat
        /// An admitted connection has ended.
        case lost(reason: String)
        /// The host has ended its share, with this reason.
        case hostEnded(String)
        case retry(after: Duration, reason: String)
    }

    private(set) var state = State.idle
    /// Version 1 is spoken.
    var isPlain = false
    /// A known host is watched whenever it appears; nobody is asked anything.
    var isAwaited = false
    private var attempts = 0
    /// Attempts since the last admission; each may have asked the host's person.
    private var unanswered = 0
    /// This viewer was admitted before.
    private var wasPaired = false
    private var leastPause = Duration.zero
    /// No attempt before this, even if the host is announced again: anybody on the network can announce it.
    private var notBefore = MediaTime.distantPast
    /// Consecutive connections that ended within `stableControl` of admission.
    private var shortLived = 0
    /// The host answers the handshake at once (version 2).
    private var isAnswered = false
    /// The next ping while a version 2 host owes an answer that needs no person, and how many more follow.
    private var nudge: (next: MediaTime, left: Int)?
    /// Connections in a row that were given up because such an answer didn't come.
    private var restarts = 0
    /// When the last admitted connection ended.
    private var lostAt: MediaTime?

    var isPaired: Bool {
        if case .paired = state { true } else { false }
    }

    /// Lines or messages can be exchanged.
    var isConnected: Bool {
        switch state {
        case .deciding, .paired: true
        default: false
        }
    }

    var deadline: MediaTime? {
        switch state {
        case .idle, .needsCode, .ended: nil
        case .connecting(let time), .waiting(let time): time
        case .deciding(let time): nudge.map { min($0.next, time) } ?? time
        case .paired(_, let nextHeartbeat, let lastLine): min(nextHeartbeat, lastLine + ViewerTiming.controlTimeout)
        }
    }

    // MARK: What happens

    mutating func start(now: MediaTime) -> [Action] {
        guard case .idle = state else { return [] }
        return connect(now: now)
    }

    /// `isAnswered`: the host answers the handshake at once (version 2). Until it does, it is sent pings: TCP resends
    /// what was lost as soon as something later has arrived, and otherwise only after its timer.
    mutating func connected(isAnswered: Bool = false, now: MediaTime) -> [Action] {
        guard case .connecting = state else { return [] }
        self.isAnswered = isAnswered
        if isAnswered { awaitAnswer(now: now) }
        state = .deciding(giveUp: now + ViewerTiming.decisionTimeout)
        return [.sendHandshake]
    }

    /// The host owes an answer that needs no person. If none comes in spite of pings, this connection is replaced by a new
    /// one: TCP's timers double with each loss, so that an old connection may stand still for seconds where a new one
    /// takes 0.1 s. After `ViewerTiming.mostRestarts` the host counts as slow, and is waited for.
    mutating func awaitAnswer(now: MediaTime) {
        nudge = (next: now + ViewerTiming.nudgeInterval, left: ViewerTiming.nudges << max(0, restarts - 1))
    }

    /// The connection couldn't be established, or has ended.
    mutating func closed(reason: String, now: MediaTime) -> [Action] {
        switch state {
        case .idle, .waiting, .needsCode, .ended: []
        case .connecting, .deciding: retry(reason: reason, now: now)
        case .paired(let since, _, _): lose(since: since, reason: reason, now: now)
        }
    }

    mutating func hostAppeared(now: MediaTime) -> [Action] {
        guard case .waiting(let until) = state else { return [] }
        guard notBefore > now else { return connect(now: now) }
        state = .waiting(until: min(until, notBefore))
        return []
    }

    /// A line or message has arrived; its content doesn't matter here.
    mutating func lineArrived(now: MediaTime) {
        nudge = nil
        guard case .paired(let since, let nextHeartbeat, _) = state else { return }
        state = .paired(since: since, nextHeartbeat: nextHeartbeat, lastLine: now)
    }

    /// The host has admitted this viewer. Returns false if it had done so before.
    mutating func accepted(now: MediaTime) -> Bool {
        guard case .deciding = state else { return false }
        state = .paired(since: now, nextHeartbeat: now + ViewerTiming.heartbeatInterval, lastLine: now)
        attempts = 0
        restarts = 0
        unanswered = 0
        leastPause = .zero
        notBefore = .distantPast
        wasPaired = true
        return true
    }

    /// The host's person is asked, so the decision may take longer.
    mutating func personAsked(now: MediaTime) {
        guard case .deciding = state else { return }
        state = .deciding(giveUp: now + ViewerTiming.pairingTimeout)
    }

    /// Both sides show digits. If the connection ends now, the next attempt waits longer than a host allows a viewer to
    /// reveal its nonce, so that an attacker in the middle can't use two attempts for one comparison.
    mutating func comparisonStarted() { leastPause = ViewerTiming.comparisonRetry }

    /// The host requires its code: no attempt before the person has typed it.
    mutating func needsCode() -> [Action] {
        switch state {
        case .deciding:
            state = .needsCode
            return [.close]
        case .waiting:
            state = .needsCode
            return []
        default:
            return []
        }
    }

    /// The person has typed the code, or wants the person at the host to be asked.
    mutating func codeTyped(now: MediaTime) -> [Action] {
        guard case .needsCode = state else { return [] }
        guard notBefore <= now else {
            state = .waiting(until: notBefore)
            return []
        }
        return connect(now: now)
    }

    /// The person has typed the code while the person at the host is asked: connects again, with the code.
    mutating func startOver(now: MediaTime) -> [Action] {
        guard case .deciding = state else { return [] }
        return [.close] + connect(now: now)
    }

    /// The host has said that it ends. It is tried again and again, because it may come back.
    mutating func hostEnded(_ reason: String, now: MediaTime) -> [Action] {
        switch state {
        case .paired:
            lostAt = now
            wait(now + ViewerTiming.reconnection, isFixed: false)
        case .deciding: wait(now + scheduledPause(), isFixed: leastPause > .zero)
        case .idle, .connecting, .waiting, .needsCode, .ended: return []
        }
        return [.close, .hostEnded(reason)]
    }

    /// The host has said how long to wait.
    mutating func postponed(by pause: Duration, reason: String, now: MediaTime) -> [Action] {
        guard case .deciding = state else { return [] }
        wait(now + pause, isFixed: true)
        return [.close, .retry(after: pause, reason: reason)]
    }

    /// Another host answered in place of the expected one. Retries are slow, because the expected one may come back.
    mutating func foundWrongHost(reason: String, now: MediaTime) -> [Action] {
        let pause = ViewerTiming.wrongHostRetry
        switch state {
        case .connecting, .deciding:
            wait(now + pause, isFixed: leastPause > .zero)
            return [.close, .retry(after: pause, reason: reason)]
        case .paired:
            wait(now + pause, isFixed: leastPause > .zero)
            return [.close, .lost(reason: reason)]
        case .idle, .waiting, .needsCode, .ended:
            return []
        }
    }

    /// The host doesn't speak version 2: connect at once in version 1.
    mutating func fallBack(now: MediaTime) -> [Action] {
        guard case .connecting = state else { return [] }
        attempts -= 1
        return connect(now: now)
    }

    /// Connects again at once.
    mutating func restart(now: MediaTime) -> [Action] {
        guard case .deciding = state else { return [] }
        attempts -= 1
        return [.close] + connect(now: now)
    }

    /// Nothing is heard of the host, neither here nor from its stream: it may be reached at another address.
    mutating func unheard(since: MediaTime, now: MediaTime) -> [Action] {
        guard case .paired(let begin, _, let lastLine) = state, lastLine < since else { return [] }
        return [.close] + lose(since: begin, reason: "nothing arrives from it", now: now)
    }

    /// The host broke the protocol.
    mutating func violated(reason: String, now: MediaTime) -> [Action] {
        switch state {
        case .deciding: [.close] + retry(reason: reason, now: now)
        case .paired(let since, _, _): [.close] + lose(since: since, reason: reason, now: now)
        default: []
        }
    }

    mutating func end() -> [Action] {
        defer { state = .ended }
        switch state {
        case .connecting, .deciding, .paired: return [.close]
        case .idle, .waiting, .needsCode, .ended: return []
        }
    }

    mutating func deadlineReached(now: MediaTime) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .idle, .needsCode, .ended:
            return []
        case .waiting:
            return connect(now: now)
        case .connecting:
            return [.close] + retry(reason: "it doesn't answer", now: now)
        case .deciding(let giveUp) where giveUp > now:
            guard let left = nudge?.left, left > 1 else {
                nudge = nil
                // After a comparison there is a pause first.
                guard restarts < ViewerTiming.mostRestarts, leastPause == .zero else { return [.sendHeartbeat] }
                restarts += 1
                return restart(now: now)
            }
            nudge = (next: now + ViewerTiming.nudgeInterval, left: left - 1)
            return [.sendHeartbeat]
        case .deciding:
            let pause = scheduledPause()
            wait(now + pause, isFixed: leastPause > .zero)
            return [.close, .retry(after: pause, reason: Self.undecided)]
        case .paired(let since, _, let lastLine):
            if lastLine + ViewerTiming.controlTimeout <= now {
                let seconds = Int(clamping: ViewerTiming.controlTimeout.inSeconds)
                return [.close] + lose(since: since, reason: "nothing came from it for \(seconds) s", now: now)
            }
            state = .paired(since: since, nextHeartbeat: now + ViewerTiming.heartbeatInterval, lastLine: lastLine)
            return [.sendHeartbeat]
        }
    }

    /// The reason of a retry: the host hasn't decided in time.
    static let undecided = "nobody there has answered in time"

    // MARK: Steps

    private mutating func connect(now: MediaTime) -> [Action] {
        attempts += 1
        state = .connecting(giveUp: now + ViewerTiming.connectionTimeout)
        return [.connect(attempt: attempts)]
    }

    private mutating func retry(reason: String, now: MediaTime) -> [Action] {
        let isRecent = lostAt.map { now - $0 < ViewerTiming.quickReconnectionTime } ?? false
        let pause: Duration
        if wasPaired, isPlain {
            pause = max(leastPause, ViewerTiming.reconnection)
        } else if wasPaired, isRecent, shortLived <= ViewerTiming.quickReconnections {
            pause = max(leastPause, ViewerTiming.quickReconnection)
        } else {
            pause = scheduledPause()
        }
        wait(now + pause, isFixed: leastPause > .zero)
        return [.retry(after: pause, reason: reason)]
    }

    private mutating func lose(since: MediaTime, reason: String, now: MediaTime) -> [Action] {
        lostAt = now
        shortLived = now - since < ViewerTiming.stableControl ? shortLived + 1 : 0
        // A host that admits this viewer and drops it each time is retried more and more slowly.
        let tries = shortLived - ViewerTiming.quickReconnections
        let pause =
            tries > 0 ? schedule[min(tries, schedule.count) - 1] : ViewerTiming.firstReconnection
        wait(now + pause, isFixed: tries > 0)
        return [.lost(reason: reason)]
    }

    /// `isFixed`: an announcement of the host doesn't shorten the pause.
    private mutating func wait(_ time: MediaTime, isFixed: Bool) {
        state = .waiting(until: time)
        if isFixed { notBefore = time }
    }

    private mutating func scheduledPause() -> Duration {
        defer { unanswered += 1 }
        return max(leastPause, schedule[min(unanswered, schedule.count - 1)])
    }

    private var schedule: [Duration] {
        if isPlain { return ViewerTiming.plainRetrySchedule }
        return isAwaited ? ViewerTiming.awaitedRetrySchedule : ViewerTiming.retrySchedule
    }
}
