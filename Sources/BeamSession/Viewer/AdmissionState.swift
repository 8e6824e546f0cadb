import BeamMedia
import BeamWire

/// How far a viewer has come with its host: decides when a connection is opened, given up and retried.
struct AdmissionState: Sendable {
    private enum Phase: Sendable {
        case idle
        case dialling(giveUp: MediaTime)
        /// The first messages were sent; the host decides. In a pairing both sides may be comparing digits.
        case asking(Question, giveUp: MediaTime)
        case admitted(Dialog, Times)
        /// Waiting for the next attempt.
        case waiting(until: MediaTime)
        /// The person has to type the host's code before the next attempt.
        case codeNeeded
        /// Refused, or shut down.
        case ended
    }

    /// What an undecided connection speaks.
    enum Question: Sendable {
        case lines(LineReading)
        /// Version 2.
        case pairing(SecurePairing)
    }

    /// What an admitted connection speaks.
    private enum Dialog: Sendable {
        case lines(LineReading)
        /// Version 2, and what the host can do.
        case messages(SecureMessage.Welcome.Features)
    }

    private struct Times: Sendable {
        var since: MediaTime
        var nextHeartbeat: MediaTime
        var lastHeard: MediaTime
    }

    enum Action: Sendable {
        case connect(attempt: Int)
        case close
        case sendHeartbeat
        /// An admitted connection has ended.
        case lost(reason: String)
        /// The host has ended its share, with this reason.
        case hostEnded(String)
        /// `stake`: what was open when the connection ended.
        case retry(after: Duration, reason: String, SecurePairing.Stake = .nothing)
    }

    private var phase = Phase.idle { didSet { deadline = deadlineNow } }
    var version: SpokenVersion
    /// A known host is watched whenever it appears; nobody is asked anything.
    private let isAwaited: Bool
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
    /// The next ping while a version 2 host owes an answer that needs no person, and how many more follow.
    private var nudge: (next: MediaTime, left: Int)? { didSet { deadline = deadlineNow } }
    /// Kept, because it is asked for with each datagram.
    private(set) var deadline: MediaTime?
    /// Connections in a row that were given up because such an answer didn't come.
    private var restarts = 0
    /// When the last admitted connection ended.
    private var lostAt: MediaTime?

    init(_ version: SpokenVersion, isAwaited: Bool) {
        self.version = version
        self.isAwaited = isAwaited
    }

    var isIdle: Bool { if case .idle = phase { true } else { false } }
    var isDialling: Bool { if case .dialling = phase { true } else { false } }
    var isAdmitted: Bool { if case .admitted = phase { true } else { false } }
    var isCodeNeeded: Bool { if case .codeNeeded = phase { true } else { false } }
    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// The pairing on the present connection.
    var pairing: SecurePairing? {
        get { if case .asking(.pairing(let pairing), _) = phase { pairing } else { nil } }
        set {
            guard case .asking(.pairing, let giveUp) = phase, let newValue else { return }
            phase = .asking(.pairing(newValue), giveUp: giveUp)
        }
    }

    /// What was read on the present connection, if it is of version 1.
    var reading: LineReading? {
        get {
            switch phase {
            case .asking(.lines(let reading), _), .admitted(.lines(let reading), _): reading
            default: nil
            }
        }
        set {
            guard let newValue else { return }
            switch phase {
            case .asking(.lines, let giveUp): phase = .asking(.lines(newValue), giveUp: giveUp)
            case .admitted(.lines, let times): phase = .admitted(.lines(newValue), times)
            default: break
            }
        }
    }

    /// What the host that has admitted this viewer can do (version 2).
    var features: SecureMessage.Welcome.Features? {
        if case .admitted(.messages(let features), _) = phase { features } else { nil }
    }

    private var stake: SecurePairing.Stake { pairing?.stake ?? .nothing }

    private var deadlineNow: MediaTime? {
        switch phase {
        case .idle, .codeNeeded, .ended: nil
        case .dialling(let time), .waiting(let time): time
        case .asking(_, let time): nudge.map { min($0.next, time) } ?? time
        case .admitted(_, let times): min(times.nextHeartbeat, times.lastHeard + ViewerTiming.controlTimeout)
        }
    }

    // MARK: What happens

    mutating func start(now: MediaTime) -> [Action] {
        guard case .idle = phase else { return [] }
        return connect(now: now)
    }

    /// A version 2 host answers at once. Until it does, it is sent pings: TCP resends what was lost as soon as something
    /// later has arrived, and otherwise only after its timer.
    ///
    /// - Returns: false if there is no such connection.
    mutating func connected(_ question: Question, now: MediaTime) -> Bool {
        guard case .dialling = phase else { return false }
        phase = .asking(question, giveUp: now + ViewerTiming.decisionTimeout)
        if case .pairing = question { awaitAnswer(now: now) }
        return true
    }

    /// The host owes an answer that needs no person. If none comes in spite of pings, this connection is replaced by a new
    /// one: TCP's timers double with each loss, so that an old connection may stand still for seconds where a new one
    /// takes 0.1 s. After `ViewerTiming.mostRestarts` the host counts as slow, and is waited for.
    mutating func awaitAnswer(now: MediaTime) {
        nudge = (next: now + ViewerTiming.nudgeInterval, left: ViewerTiming.nudges << max(0, restarts - 1))
    }

    /// The connection couldn't be established, or has ended.
    mutating func closed(reason: String, now: MediaTime) -> [Action] {
        switch phase {
        case .idle, .waiting, .codeNeeded, .ended: []
        case .dialling, .asking: retry(reason: reason, now: now)
        case .admitted(_, let times): lose(since: times.since, reason: reason, now: now)
        }
    }

    mutating func hostAppeared(now: MediaTime) -> [Action] {
        guard case .waiting(let until) = phase else { return [] }
        guard notBefore > now else { return connect(now: now) }
        phase = .waiting(until: min(until, notBefore))
        return []
    }

    /// A line or message has arrived; its content doesn't matter here.
    mutating func heard(now: MediaTime) {
        nudge = nil
        guard case .admitted(let dialog, var times) = phase else { return }
        times.lastHeard = now
        phase = .admitted(dialog, times)
    }

    /// The host has admitted this viewer. Returns false if it had done so before.
    mutating func accepted(now: MediaTime) -> Bool {
        guard case .asking(let question, _) = phase else { return false }
        let dialog: Dialog =
            switch question {
            case .lines(let reading): .lines(reading)
            case .pairing(let pairing): .messages(pairing.features)
            }
        phase = .admitted(
            dialog, Times(since: now, nextHeartbeat: now + ViewerTiming.heartbeatInterval, lastHeard: now))
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
        guard case .asking(let question, _) = phase else { return }
        phase = .asking(question, giveUp: now + ViewerTiming.pairingTimeout)
    }

    /// Both sides show digits. If the connection ends now, the next attempt waits longer than a host allows a viewer to
    /// reveal its nonce, so that an attacker in the middle can't use two attempts for one comparison.
    mutating func comparisonStarted() { leastPause = ViewerTiming.comparisonRetry }

    /// The host requires its code: no attempt before the person has typed it.
    mutating func needsCode() -> [Action] {
        switch phase {
        case .asking:
            phase = .codeNeeded
            return [.close]
        case .waiting:
            phase = .codeNeeded
            return []
        default:
            return []
        }
    }

    /// The person has typed the code, or wants the person at the host to be asked.
    mutating func codeTyped(now: MediaTime) -> [Action] {
        switch phase {
        case .codeNeeded where notBefore > now:
            phase = .waiting(until: notBefore)
            return []
        case .codeNeeded: return connect(now: now)
        // Connects again, with the code.
        case .asking(.pairing(let pairing), _) where pairing.isAskingPerson: return [.close] + connect(now: now)
        default: return []
        }
    }

    /// The host has said that it ends. It is tried again and again, because it may come back.
    mutating func hostEnded(_ reason: String, now: MediaTime) -> [Action] {
        switch phase {
        case .admitted:
            lostAt = now
            wait(now + ViewerTiming.reconnection, isFixed: false)
        case .asking: wait(now + scheduledPause(), isFixed: leastPause > .zero)
        case .idle, .dialling, .waiting, .codeNeeded, .ended: return []
        }
        return [.close, .hostEnded(reason)]
    }

    /// The host has said how long to wait.
    mutating func postponed(by pause: Duration, reason: String, now: MediaTime) -> [Action] {
        guard case .asking = phase else { return [] }
        return [.close, retry(after: pause, reason: reason, isFixed: true, now: now)]
    }

    /// Another host answered in place of the expected one. Retries are slow, because the expected one may come back.
    mutating func foundWrongHost(reason: String, now: MediaTime) -> [Action] {
        let pause = ViewerTiming.wrongHostRetry
        switch phase {
        case .dialling, .asking:
            return [.close, retry(after: pause, reason: reason, isFixed: leastPause > .zero, now: now)]
        case .admitted:
            wait(now + pause, isFixed: leastPause > .zero)
            return [.close, .lost(reason: reason)]
        case .idle, .waiting, .codeNeeded, .ended:
            return []
        }
    }

    /// The host doesn't speak version 2: connect at once in version 1.
    mutating func fallBack(now: MediaTime) -> [Action] {
        guard case .dialling = phase else { return [] }
        version = .plain(byMemory: false)
        attempts -= 1
        return connect(now: now)
    }

    /// The host has refused version 1, which was tried by memory: connect again at once in version 2.
    mutating func upgrade(after refusal: ViewerRefusal, now: MediaTime) -> [Action] {
        version = .secure(after: refusal)
        return restart(now: now)
    }

    private mutating func restart(now: MediaTime) -> [Action] {
        guard case .asking = phase else { return [] }
        attempts -= 1
        return [.close] + connect(now: now)
    }

    /// Nothing is heard of the host, neither here nor from its stream: it may be reached at another address.
    mutating func unheard(since: MediaTime, now: MediaTime) -> [Action] {
        guard case .admitted(_, let times) = phase, times.lastHeard < since else { return [] }
        return [.close] + lose(since: times.since, reason: "nothing arrives from it", now: now)
    }

    /// The host broke the protocol.
    mutating func violated(reason: String, now: MediaTime) -> [Action] {
        switch phase {
        case .asking: [.close] + retry(reason: reason, now: now)
        case .admitted(_, let times): [.close] + lose(since: times.since, reason: reason, now: now)
        default: []
        }
    }

    /// Returns whether there is a connection to close.
    mutating func end() -> Bool {
        defer { phase = .ended }
        return switch phase {
        case .dialling, .asking, .admitted: true
        case .idle, .waiting, .codeNeeded, .ended: false
        }
    }

    mutating func deadlineReached(now: MediaTime) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch phase {
        case .idle, .codeNeeded, .ended:
            return []
        case .waiting:
            return connect(now: now)
        case .dialling:
            return [.close] + retry(reason: "it doesn't answer", now: now)
        case .asking(_, let giveUp) where giveUp > now:
            guard let left = nudge?.left, left > 1 else {
                nudge = nil
                // After a comparison there is a pause first.
                guard restarts < ViewerTiming.mostRestarts, leastPause == .zero else { return [.sendHeartbeat] }
                restarts += 1
                return restart(now: now)
            }
            nudge = (next: now + ViewerTiming.nudgeInterval, left: left - 1)
            return [.sendHeartbeat]
        case .asking:
            let isFixed = leastPause > .zero
            return [.close, retry(after: scheduledPause(), reason: Self.undecided, isFixed: isFixed, now: now)]
        case .admitted(let dialog, var times):
            if times.lastHeard + ViewerTiming.controlTimeout <= now {
                let seconds = Int(clamping: ViewerTiming.controlTimeout.inSeconds)
                return [.close] + lose(since: times.since, reason: "nothing came from it for \(seconds) s", now: now)
            }
            times.nextHeartbeat = now + ViewerTiming.heartbeatInterval
            phase = .admitted(dialog, times)
            return [.sendHeartbeat]
        }
    }

    /// The reason of a retry: the host hasn't decided in time.
    static let undecided = "nobody there has answered in time"

    // MARK: Steps

    private mutating func connect(now: MediaTime) -> [Action] {
        attempts += 1
        phase = .dialling(giveUp: now + ViewerTiming.connectionTimeout)
        return [.connect(attempt: attempts)]
    }

    private mutating func retry(reason: String, now: MediaTime) -> [Action] {
        let isRecent = lostAt.map { now - $0 < ViewerTiming.quickReconnectionTime } ?? false
        let pause: Duration
        if wasPaired, version.isPlain {
            pause = max(leastPause, ViewerTiming.reconnection)
        } else if wasPaired, isRecent, shortLived <= ViewerTiming.quickReconnections {
            pause = max(leastPause, ViewerTiming.quickReconnection)
        } else {
            pause = scheduledPause()
        }
        return [retry(after: pause, reason: reason, isFixed: leastPause > .zero, now: now)]
    }

    private mutating func retry(after pause: Duration, reason: String, isFixed: Bool, now: MediaTime) -> Action {
        defer { wait(now + pause, isFixed: isFixed) }
        return .retry(after: pause, reason: reason, stake)
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
        phase = .waiting(until: time)
        if isFixed { notBefore = time }
    }

    private mutating func scheduledPause() -> Duration {
        defer { unanswered += 1 }
        return max(leastPause, schedule[min(unanswered, schedule.count - 1)])
    }

    private var schedule: [Duration] {
        if version.isPlain { return ViewerTiming.plainRetrySchedule }
        return isAwaited ? ViewerTiming.awaitedRetrySchedule : ViewerTiming.retrySchedule
    }
}
