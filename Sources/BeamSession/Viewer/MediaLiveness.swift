import BeamMedia

/// Decides when a viewer's media socket sends a hello, counts as stalled, and is replaced.
struct MediaLiveness: Sendable {
    /// An open socket, which sends hellos.
    struct Open: Sendable {
        var localPort: UInt16
        var opened: MediaTime
        var lastHello: MediaTime
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
        /// Test the control connection (version 2).
        case testControl
        /// The picture has stood still for `time`; `isSilent`: nothing arrives.
        case stalled(time: Duration, isSilent: Bool)
        case tell(ViewerEvent)
    }

    private(set) var state = State.closed
    /// The host speaks version 2 and answers each hello, so an unanswered hello was lost and is repeated fast.
    var isAnswered = false
    /// The host has said that it isn't sharing, so silence is expected.
    private var isPaused = false
    /// A stall was reported, and the picture hasn't gone on since.
    private var isStalled = false
    /// Something arrived during the stall: what is lost on the way makes it, so a single picture is no sign of its end.
    private var isLossy = false
    /// Since when pictures have kept up after a stall that losses made; nil while they don't.
    private var steadySince: MediaTime?
    private var isReconnecting = false
    private var lastData: MediaTime?
    /// Parts of frames have come lately, and the host hasn't paused, so more is expected soon.
    private var isMoving = false
    private var lastMedia: MediaTime?
    /// When the first hello was sent since the last datagram.
    private var unansweredSince: MediaTime?
    private var hasTestedControl = false
    private var testedControlAt: MediaTime?
    /// Since when the host has frames that are newer than the last one that was complete; nil while it has none.
    private var behindSince: MediaTime?
    private var frames: UInt64 = 0
    private var lastFrame: MediaTime?
    private var lastStallReport: MediaTime?

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
            case .open(_, let open): isPaused ? open.nextHello : min(helloDue(open), open.replacement)
            }
        var next = socket ?? .distantFuture
        if let report = stallReportDue { next = min(next, report) }
        if let test = controlTestDue { next = min(next, test) }
        if let steadySince { next = min(next, steadySince + ViewerTiming.steadyTime) }
        return next < .distantFuture ? next : nil
    }

    /// After silence within a moving picture, a hello asks at once whether the host is still heard. Datagrams that have
    /// waited in the socket arrived long ago, one by one: they don't cause a hello each.
    private func helloDue(_ open: Open) -> MediaTime {
        guard isAnswered, isMoving, unansweredSince == nil, let lastData else { return open.nextHello }
        let due = max(lastData + ViewerTiming.suspiciousSilence, open.lastHello + ViewerTiming.unansweredHelloInterval)
        return min(open.nextHello, due)
    }

    /// Since when nothing arrives although something should; nil if that isn't known (version 2).
    private var silentSince: MediaTime? {
        guard !isPaused, isAnswered else { return nil }
        return isMoving ? lastData : unansweredSince
    }

    private var controlTestDue: MediaTime? {
        guard !hasTestedControl, let silentSince else { return nil }
        return max(silentSince, testedControlAt ?? silentSince) + ViewerTiming.controlTest
    }

    private var stallReportDue: MediaTime? {
        guard !isPaused else { return nil }
        var due: MediaTime?
        if isAnswered {
            let since = min(silentSince ?? .distantFuture, behindSince ?? .distantFuture)
            if since < .distantFuture { due = since + ViewerTiming.stallTimeout }
        } else {
            due = lastData.map { $0 + ViewerTiming.plainStallTimeout }
        }
        guard let due else { return nil }
        return max(due, lastStallReport.map { $0 + ViewerTiming.stallReportInterval } ?? due)
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
        if isNewSession { forgetPicture() }
        return open(port, now: now)
    }

    /// The host has another address: the socket is replaced at once.
    mutating func hostMoved(now: MediaTime) -> [Action] {
        switch state {
        case .closed: return []
        case .pausing(let port, _): return open(port, now: now)
        case .opening(let port, _), .open(let port, _): return [.close] + open(port, now: now)
        }
    }

    private mutating func forgetPicture() {
        lastData = nil
        lastMedia = nil
        isMoving = false
        unansweredSince = nil
        hasTestedControl = false
        behindSince = nil
        steadySince = nil
        lastFrame = nil
        lastStallReport = nil
    }

    mutating func opened(localPort: UInt16, now: MediaTime) -> [Action] {
        guard case .opening(let port, _) = state else { return [] }
        state = .open(
            port: port,
            Open(
                localPort: localPort, opened: now, lastHello: now, nextHello: now, lastArrival: now, hasData: false))
        return sendHello(now: now) + [.announce(localPort: localPort)]
    }

    /// Sends a hello now: the host knows this viewer by another key.
    mutating func helloNow(now: MediaTime) -> [Action] { sendHello(now: now) }

    /// The socket couldn't be opened, or has reported an error. `hasNoAddress`: this machine's address or interface is
    /// gone, so nothing can be sent by this socket any more.
    mutating func failed(hasNoAddress: Bool = false, now: MediaTime) -> [Action] {
        switch state {
        case .closed, .pausing:
            return []
        case .opening(let port, _) where hasNoAddress, .open(let port, _) where hasNoAddress:
            return replace(port, after: ViewerTiming.reopeningDelayWithoutAddress, now: now)
        case .open(_, let open) where open.hasData && now - open.lastArrival < ViewerTiming.recentData:
            return []
        case .opening(let port, _), .open(let port, _):
            return replace(port, after: ViewerTiming.reopeningDelayAfterFailure, now: now)
        }
    }

    /// What a datagram says of the frames that follow it.
    enum Arrival: Hashable, Sendable {
        /// It is of a frame.
        case media
        /// The host has answered a hello, or probes the path.
        case answer
        /// It is sound or something else that says nothing of pictures.
        case sound
        /// The host has sent its last frame for now.
        case pause
    }

    /// An authentic (version 2) or well-formed (version 1) datagram has arrived.
    mutating func datagram(_ arrival: Arrival = .media, now: MediaTime) -> Action? {
        guard case .open(let port, var open) = state else { return nil }
        open.lastArrival = now
        open.hasData = true
        // Answered: it needn't be repeated.
        if unansweredSince != nil {
            // If its first frames were lost, the host counts the path as silent until it hears this viewer again.
            let isWaiting =
                (arrival == .answer || arrival == .sound) && lastFrame == nil
                && now - open.opened < ViewerTiming.firstFrameTime
            open.nextHello = max(
                open.nextHello,
                open.lastHello + (isWaiting ? ViewerTiming.unansweredHelloInterval : ViewerTiming.helloInterval))
        }
        state = .open(port: port, open)
        lastData = now
        switch arrival {
        case .media: lastMedia = now
        case .answer, .sound: break
        case .pause: lastMedia = nil
        }
        isMoving = lastMedia.map { now - $0 < ViewerTiming.suspiciousSilence } ?? false
        unansweredSince = nil
        hasTestedControl = false
        if !isStalled || !isAnswered { lastStallReport = nil }
        return resumed(hasPicture: !isAnswered || behindSince == nil, now: now)
    }

    /// What is known of the host's frames. `complete`: how many have been completed; `isBehind`: there are newer ones.
    mutating func pictures(complete: UInt64, isBehind: Bool, now: MediaTime) -> Action? {
        let isNew = complete != frames
        if let behindSince, now - behindSince >= ViewerTiming.longestSteadyGap { steadySince = nil }
        if isNew {
            if isLossy, steadySince == nil { steadySince = now }
            frames = complete
            lastFrame = now
            behindSince = nil
        }
        if !isBehind { behindSince = nil } else if behindSince == nil { behindSince = now }
        return isNew ? resumed(hasPicture: true, now: now) : nil
    }

    private mutating func resumed(hasPicture: Bool, now: MediaTime) -> Action? {
        guard isStalled || isReconnecting, hasPicture || !isStalled else { return nil }
        if isStalled, isLossy {
            guard let steadySince, now - steadySince >= ViewerTiming.steadyTime else { return nil }
        }
        isStalled = false
        isLossy = false
        steadySince = nil
        isReconnecting = false
        lastStallReport = nil
        return .tell(.mediaResumed)
    }

    /// The host is or isn't sharing; nil: unknown.
    mutating func broadcast(_ isOn: Bool?, now: MediaTime) {
        let wasPaused = isPaused
        isPaused = isOn == false
        guard wasPaused, !isPaused else { return }
        // The pause doesn't count as silence.
        if lastData != nil { lastData = now }
        if unansweredSince != nil { unansweredSince = now }
        if behindSince != nil { behindSince = now }
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
        var actions = testControl(now: now) + stallReport(now: now)
        if let steadySince, steadySince + ViewerTiming.steadyTime <= now {
            // The last picture is complete, or the next one is about to be.
            let isSteady = behindSince.map { now - $0 < ViewerTiming.longestSteadyGap } ?? true
            if isSteady, let action = resumed(hasPicture: true, now: now) { actions.append(action) }
            self.steadySince = nil
        }
        switch state {
        case .closed:
            break
        case .opening(let port, let giveUp):
            if giveUp <= now { actions += replace(port, after: ViewerTiming.reopeningDelay, now: now) }
        case .pausing(let port, let until):
            if until <= now { actions += open(port, now: now) }
        case .open(let port, let open):
            if !isPaused, open.replacement <= now {
                actions += replace(port, after: ViewerTiming.reopeningDelay, now: now)
            } else if helloDue(open) <= now {
                actions += sendHello(now: now)
            }
        }
        return actions
    }

    // MARK: Steps

    private mutating func sendHello(now: MediaTime) -> [Action] {
        guard case .open(let port, var open) = state else { return [] }
        open.lastHello = now
        open.nextHello = now + helloPause(hasData: open.hasData, now: now)
        if unansweredSince == nil { unansweredSince = now }
        state = .open(port: port, open)
        return [.hello]
    }

    private func helloPause(hasData: Bool, now: MediaTime) -> Duration {
        guard isAnswered, !isPaused else { return ViewerTiming.helloInterval }
        let time = unansweredSince.map { now - $0 } ?? .zero
        if !hasData, time < ViewerTiming.firstHellos { return ViewerTiming.firstHelloInterval }
        return time < ViewerTiming.longUnanswered ? ViewerTiming.unansweredHelloInterval : ViewerTiming.helloInterval
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
        guard let due = stallReportDue, due <= now else { return [] }
        isStalled = true
        lastStallReport = now
        guard isAnswered else { return [.stalled(time: lastData.map { now - $0 } ?? .zero, isSilent: true)] }
        let isSilent = silentSince.map { $0 + ViewerTiming.stallTimeout <= now } ?? false
        if !isSilent { isLossy = true }
        let since = [lastFrame, behindSince, silentSince].compactMap { $0 }.min() ?? now
        return [.stalled(time: now - since, isSilent: isSilent)]
    }

    /// Once for each silence.
    private mutating func testControl(now: MediaTime) -> [Action] {
        guard let due = controlTestDue, due <= now else { return [] }
        hasTestedControl = true
        testedControlAt = now
        return [.testControl]
    }
}
