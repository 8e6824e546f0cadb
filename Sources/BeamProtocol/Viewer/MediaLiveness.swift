import BeamMedia

/// A viewer's media socket: when it says hello, when it has been silent for too long, when it is replaced.
struct MediaLiveness: Sendable {
    /// A socket that says hello.
    struct Open: Sendable {
        var localPort: UInt16
        var nextHello: MediaTime
        /// When it was opened, or when the last datagram came.
        var lastSign: MediaTime
        var hasData: Bool

        /// The socket is replaced then.
        var replacement: MediaTime {
            lastSign + (hasData ? ViewerTiming.silenceAfterData : ViewerTiming.silenceBeforeData)
        }
    }

    enum State: Sendable {
        /// No session, or no port yet.
        case closed
        /// Asked for.
        case opening(port: UInt16, giveUp: MediaTime)
        case open(port: UInt16, Open)
        /// Closed, to be opened afresh.
        case pausing(port: UInt16, until: MediaTime)
    }

    enum Action: Equatable, Sendable {
        case open(port: UInt16)
        case close
        case hello
        /// Tell the host which port the hellos come from.
        case announce(localPort: UInt16)
        case tell(ViewerEvent)
    }

    private(set) var state = State.closed
    /// A host of version 2 answers each hello: one that isn't answered was lost.
    var isAnswered = false
    /// The host has said that it isn't sharing: there is nothing to miss.
    private var isPaused = false
    /// The person knows that nothing comes.
    private var isStalled = false
    private var isReconnecting = false
    private var lastData: MediaTime?
    private var nextStallReport: MediaTime?

    /// The local port of the socket that is open.
    var localPort: UInt16? {
        if case .open(_, let open) = state { open.localPort } else { nil }
    }

    var isOpen: Bool { localPort != nil }

    /// The next time that `deadlineReached` has something to do.
    var deadline: MediaTime? {
        let socket: MediaTime? =
            switch state {
            case .closed: nil
            case .opening(_, let giveUp): giveUp
            case .pausing(_, let until): until
            case .open(_, let open): isPaused ? open.nextHello : min(open.nextHello, open.replacement)
            }
        guard !isPaused, let report = nextStallReport else { return socket }
        return socket.map { min($0, report) } ?? report
    }

    // MARK: What happens

    /// The host streams from `port`. A socket for another port, or another session, is replaced.
    mutating func start(port: UInt16, isNewSession: Bool, now: MediaTime) -> [Action] {
        switch state {
        case .opening(port, _), .open(port, _), .pausing(port, _):
            guard isNewSession else { return [] }
        default:
            break
        }
        if isNewSession { lastData = nil }
        nextStallReport = nil
        return open(port, now: now)
    }

    mutating func opened(localPort: UInt16, now: MediaTime) -> [Action] {
        guard case .opening(let port, _) = state else { return [] }
        state = .open(
            port: port,
            Open(localPort: localPort, nextHello: now + helloPause(hasData: false), lastSign: now, hasData: false))
        return [.hello, .announce(localPort: localPort)]
    }

    /// Says hello out of turn: the host knows us by another key now.
    mutating func helloNow(now: MediaTime) -> [Action] {
        guard case .open(let port, var open) = state else { return [] }
        open.nextHello = now + helloPause(hasData: open.hasData)
        state = .open(port: port, open)
        return [.hello]
    }

    /// The socket could not be opened, or has had an error.
    mutating func failed(now: MediaTime) -> [Action] {
        switch state {
        case .closed, .pausing:
            return []
        case .open(_, let open) where open.hasData && now - open.lastSign < ViewerTiming.recentData:
            return []
        case .opening(let port, _), .open(let port, _):
            return replace(port, after: ViewerTiming.reopeningAfterFailure, now: now)
        }
    }

    /// A datagram of the protocol has come.
    mutating func datagram(now: MediaTime) -> Action? {
        guard case .open(let port, var open) = state else { return nil }
        open.lastSign = now
        open.hasData = true
        state = .open(port: port, open)
        lastData = now
        nextStallReport = now + ViewerTiming.stall
        guard isStalled || isReconnecting else { return nil }
        isStalled = false
        isReconnecting = false
        return .tell(.mediaResumed)
    }

    /// The host is (not) sharing; nil: it may or may not, there is no word from it.
    mutating func broadcast(_ isOn: Bool?, now: MediaTime) {
        let wasPaused = isPaused
        isPaused = isOn == false
        guard wasPaused, !isPaused else { return }
        // What was missed in between is no silence.
        if lastData != nil { nextStallReport = now + ViewerTiming.stall }
        if case .open(let port, var open) = state {
            open.lastSign = now
            state = .open(port: port, open)
        }
    }

    mutating func stop() -> [Action] {
        defer {
            let isAnswered = isAnswered
            self = MediaLiveness()
            self.isAnswered = isAnswered
        }
        switch state {
        case .closed, .pausing: return []
        case .opening, .open: return [.close]
        }
    }

    mutating func deadlineReached(now: MediaTime) -> [Action] {
        var actions = stallReport(now: now)
        switch state {
        case .closed:
            break
        case .opening(let port, let giveUp):
            if giveUp <= now { actions += replace(port, after: ViewerTiming.reopening, now: now) }
        case .pausing(let port, let until):
            if until <= now { actions += open(port, now: now) }
        case .open(let port, var open):
            if !isPaused, open.replacement <= now {
                actions += replace(port, after: ViewerTiming.reopening, now: now)
            } else if open.nextHello <= now {
                open.nextHello = now + helloPause(hasData: open.hasData)
                state = .open(port: port, open)
                actions.append(.hello)
            }
        }
        return actions
    }

    // MARK: Steps

    private func helloPause(hasData: Bool) -> Duration {
        isAnswered && !hasData ? ViewerTiming.unansweredHello : ViewerTiming.hello
    }

    private mutating func open(_ port: UInt16, now: MediaTime) -> [Action] {
        state = .opening(port: port, giveUp: now + ViewerTiming.silenceBeforeData)
        return [.open(port: port)]
    }

    private mutating func replace(_ port: UInt16, after pause: Duration, now: MediaTime) -> [Action] {
        state = .pausing(port: port, until: now + pause)
        defer { isReconnecting = true }
        // One outage is told once.
        return isReconnecting ? [.close] : [.tell(.mediaReconnecting), .close]
    }

    private mutating func stallReport(now: MediaTime) -> [Action] {
        guard !isPaused, let lastData, let due = nextStallReport, due <= now else { return [] }
        isStalled = true
        nextStallReport = now + ViewerTiming.stallReport
        return [.tell(.stalled(now - lastData))]
    }
}
