import BeamMedia

/// A viewer's control connection: when to connect, when to give up, when to try again.
struct ViewerControl: Sendable {
    enum State: Sendable {
        /// Before the first attempt.
        case idle
        case connecting(giveUp: MediaTime)
        /// The handshake is out.
        case deciding(giveUp: MediaTime)
        case paired(since: MediaTime, nextHeartbeat: MediaTime, lastLine: MediaTime)
        /// Between two attempts.
        case waiting(until: MediaTime)
        /// The person has to type the host's code first.
        case needsCode
        /// Refused, or shut down.
        case ended
    }

    enum Action: Hashable, Sendable {
        case connect(attempt: Int)
        case close
        case sendHandshake
        case sendHeartbeat
        /// A paired connection is gone.
        case lost(reason: String)
        case retry(after: Duration, reason: String)
    }

    private(set) var state = State.idle
    private var attempts = 0
    /// Attempts that the host's person may have been bothered by.
    private var unanswered = 0
    /// A host has let us in before.
    private var wasPaired = false
    private var leastPause = Duration.zero
    /// Connections in a row that ended soon after the host had let us in.
    private var shortLived = 0

    var isPaired: Bool {
        if case .paired = state { true } else { false }
    }

    /// The connection stands: lines come and go.
    var isConnected: Bool {
        switch state {
        case .deciding, .paired: true
        default: false
        }
    }

    var deadline: MediaTime? {
        switch state {
        case .idle, .needsCode, .ended: nil
        case .connecting(let time), .deciding(let time), .waiting(let time): time
        case .paired(_, let nextHeartbeat, let lastLine): min(nextHeartbeat, lastLine + ViewerTiming.controlSilence)
        }
    }

    // MARK: What happens

    mutating func start(now: MediaTime) -> [Action] {
        guard case .idle = state else { return [] }
        return connect(now: now)
    }

    mutating func connected(now: MediaTime) -> [Action] {
        guard case .connecting = state else { return [] }
        state = .deciding(giveUp: now + ViewerTiming.decision)
        return [.sendHandshake]
    }

    /// The connection could not be made, or has ended.
    mutating func closed(reason: String, now: MediaTime) -> [Action] {
        switch state {
        case .idle, .waiting, .needsCode, .ended: []
        case .connecting, .deciding: retry(reason: reason, now: now)
        case .paired(let since, _, _): lose(since: since, reason: reason, now: now)
        }
    }

    mutating func hostAppeared(now: MediaTime) -> [Action] {
        guard case .waiting = state else { return [] }
        return connect(now: now)
    }

    /// A line has come, whatever it says.
    mutating func lineCame(now: MediaTime) {
        guard case .paired(let since, let nextHeartbeat, _) = state else { return }
        state = .paired(since: since, nextHeartbeat: nextHeartbeat, lastLine: now)
    }

    /// The host has let us in. False if that is no news.
    mutating func accepted(now: MediaTime) -> Bool {
        guard case .deciding = state else { return false }
        state = .paired(since: now, nextHeartbeat: now + ViewerTiming.heartbeat, lastLine: now)
        attempts = 0
        unanswered = 0
        wasPaired = true
        return true
    }

    /// The host has asked its person, who may take a while.
    mutating func asked(now: MediaTime) {
        guard case .deciding = state else { return }
        state = .deciding(giveUp: now + ViewerTiming.secureDecision)
    }

    /// Digits are shown on both sides. If that ends without a word, the next try waits longer than a host lets a viewer take to reveal
    /// its nonce: so nobody in between gets two chances for one.
    mutating func compared() { leastPause = ViewerTiming.afterComparison }

    /// The host takes nobody without its code: nothing goes on before the person has typed it.
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

    mutating func codeTyped(now: MediaTime) -> [Action] {
        guard case .needsCode = state else { return [] }
        return connect(now: now)
    }

    /// The host has said when to come again.
    mutating func postponed(by pause: Duration, reason: String, now: MediaTime) -> [Action] {
        guard case .deciding = state else { return [] }
        state = .waiting(until: now + pause)
        return [.close, .retry(after: pause, reason: reason)]
    }

    /// What answers isn't the host that is waited for, which may come yet: tried again at the slowest pace.
    mutating func mistrusted(reason: String, now: MediaTime) -> [Action] {
        let pause = ViewerTiming.mistrust
        switch state {
        case .connecting, .deciding:
            state = .waiting(until: now + pause)
            return [.close, .retry(after: pause, reason: reason)]
        case .paired:
            state = .waiting(until: now + pause)
            return [.close, .lost(reason: reason)]
        case .idle, .waiting, .needsCode, .ended:
            return []
        }
    }

    /// The other end speaks no version 2: tried again at once in version 1.
    mutating func fellBack(now: MediaTime) -> [Action] {
        guard case .connecting = state else { return [] }
        attempts -= 1
        return connect(now: now)
    }

    /// The host speaks nonsense.
    mutating func violated(reason: String, now: MediaTime) -> [Action] {
        switch state {
        case .deciding: [.close] + retry(reason: reason, now: now)
        case .paired(let since, _, _): [.close] + lose(since: since, reason: reason, now: now)
        default: []
        }
    }

    /// Nothing more is tried.
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
        case .deciding:
            let pause = scheduledPause()
            state = .waiting(until: now + pause)
            return [.close, .retry(after: pause, reason: "nobody has decided in time")]
        case .paired(let since, _, let lastLine):
            if lastLine + ViewerTiming.controlSilence <= now {
                let seconds = Int(clamping: ViewerTiming.controlSilence.inSeconds)
                return [.close] + lose(since: since, reason: "it has said nothing for \(seconds) s", now: now)
            }
            state = .paired(since: since, nextHeartbeat: now + ViewerTiming.heartbeat, lastLine: lastLine)
            return [.sendHeartbeat]
        }
    }

    // MARK: Steps

    private mutating func connect(now: MediaTime) -> [Action] {
        attempts += 1
        state = .connecting(giveUp: now + ViewerTiming.connection)
        return [.connect(attempt: attempts)]
    }

    private mutating func retry(reason: String, now: MediaTime) -> [Action] {
        let pause = wasPaired ? ViewerTiming.mending : scheduledPause()
        state = .waiting(until: now + pause)
        return [.retry(after: pause, reason: reason)]
    }

    private mutating func lose(since: MediaTime, reason: String, now: MediaTime) -> [Action] {
        shortLived = now - since < ViewerTiming.lastingControl ? shortLived + 1 : 0
        // A host that lets us in and sends us away isn't visited without end.
        let tries = shortLived - ViewerTiming.quickMendings
        let pause =
            tries > 0 ? ViewerTiming.schedule[min(tries, ViewerTiming.schedule.count) - 1] : ViewerTiming.firstMending
        state = .waiting(until: now + pause)
        return [.lost(reason: reason)]
    }

    private mutating func scheduledPause() -> Duration {
        defer { unanswered += 1 }
        return max(leastPause, ViewerTiming.schedule[min(unanswered, ViewerTiming.schedule.count - 1)])
    }
}
