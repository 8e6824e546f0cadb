import BeamMedia

/// Decides when a viewer's media socket sends a hello, counts as stalled, and is replaced.
struct MediaLiveness: Sendable {
    /// An open socket, which sends hellos.
    struct Open: Sendable {
        var localPort: UInt16
        var nextHello: MediaTime
        /// When the socket was opened, or its newest datagram arrived.
        var lastArrival: MediaTime
        var hasData: Bool

        /// When the socket is replaced for lack of datagrams.
        var replacement: MediaTime {
            lastArrival + (hasData ? ViewerTiming.dataTimeout : ViewerTiming.firstDataTimeout)
        }
    }

    enum State: Sendable {
        /// There is no session, or the host's media port isn't known.
        case closed
        /// The driver was asked to open a socket.
        case opening(port: UInt16, giveUp: MediaTime)
        case open(port: UInt16, Open)
        /// Closed; a new socket is opened at `until`.
        case pausing(port: UInt16, until: MediaTime)
    }

    enum Action: Equatable, Sendable {
        case open(port: UInt16)
        case close
        case hello
        /// Tell the host the local port (version 1).
        case announce(localPort: UInt16)
        case tell(ViewerEvent)
    }

    private(set) var state = State.closed
    /// The host speaks version 2 and answers each hello, so an unanswered hello was lost and is repeated fast.
    var isAnswered = false
    /// The host has said that it isn't sharing, so silence is expected.
    private var isPaused = false
    /// A `stalled` event was emitted, and no data has arrived since.
    private var isStalled = false
    private var isReconnecting = false
    private var lastData: MediaTime?
    private var nextStallReport: MediaTime?

    /// The open socket's local port.
    var localPort: UInt16? {
        if case .open(_, let open) = state { open.localPort } else { nil }
    }

    var isOpen: Bool { localPort != nil }

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

    /// The host streams from `port`. A socket for another port or an earlier session is replaced.
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
            Open(localPort: localPort, nextHello: now + helloPause(hasData: false), lastArrival: now, hasData: false))
        return [.hello, .announce(localPort: localPort)]
    }

    /// Sends a hello now: the host knows this viewer by another key.
    mutating func helloNow(now: MediaTime) -> [Action] {
        guard case .open(let port, var open) = state else { return [] }
        open.nextHello = now + helloPause(hasData: open.hasData)
        state = .open(port: port, open)
        return [.hello]
    }

    mutating func failed(now: MediaTime) -> [Action] {
        switch state {
        case .closed, .pausing:
            return []
        case .open(_, let open) where open.hasData && now - open.lastArrival < ViewerTiming.recentData:
            return []
        case .opening(let port, _), .open(let port, _):
            return replace(port, after: ViewerTiming.reopeningDelayAfterFailure, now: now)
        }
    }

    /// An authentic (version 2) or well-formed (version 1) datagram has arrived.
    mutating func datagram(now: MediaTime) -> Action? {
        guard case .open(let port, var open) = state else { return nil }
        open.lastArrival = now
        open.hasData = true
        state = .open(port: port, open)
        lastData = now
        nextStallReport = now + ViewerTiming.stallTimeout
        guard isStalled || isReconnecting else { return nil }
        isStalled = false
        isReconnecting = false
        return .tell(.mediaResumed)
    }

    /// The host is or isn't sharing; nil: unknown.
    mutating func broadcast(_ isOn: Bool?, now: MediaTime) {
        let wasPaused = isPaused
        isPaused = isOn == false
        guard wasPaused, !isPaused else { return }
        // The pause doesn't count as silence.
        if lastData != nil { nextStallReport = now + ViewerTiming.stallTimeout }
        if case .open(let port, var open) = state {
            open.lastArrival = now
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
            if giveUp <= now { actions += replace(port, after: ViewerTiming.reopeningDelay, now: now) }
        case .pausing(let port, let until):
            if until <= now { actions += open(port, now: now) }
        case .open(let port, var open):
            if !isPaused, open.replacement <= now {
                actions += replace(port, after: ViewerTiming.reopeningDelay, now: now)
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
        isAnswered && !hasData ? ViewerTiming.unansweredHelloInterval : ViewerTiming.helloInterval
    }

    private mutating func open(_ port: UInt16, now: MediaTime) -> [Action] {
        state = .opening(port: port, giveUp: now + ViewerTiming.firstDataTimeout)
        return [.open(port: port)]
    }

    private mutating func replace(_ port: UInt16, after pause: Duration, now: MediaTime) -> [Action] {
        state = .pausing(port: port, until: now + pause)
        defer { isReconnecting = true }
        // One event for each outage.
        return isReconnecting ? [.close] : [.tell(.mediaReconnecting), .close]
    }

    private mutating func stallReport(now: MediaTime) -> [Action] {
        guard !isPaused, let lastData, let due = nextStallReport, due <= now else { return [] }
        isStalled = true
        nextStallReport = now + ViewerTiming.stallReportInterval
        return [.tell(.stalled(now - lastData, .nothingArrives))]
    }
}
