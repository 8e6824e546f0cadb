import BeamMedia

/// A viewer's whole protocol, without I/O: what the host says goes in, what to do comes out.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it answers `.wait`. The first poll
/// begins to connect.
public struct ViewerSession: Sendable {
    public struct Configuration: Sendable {
        /// Six digits that the person at the host compares.
        public var code: PairingCode
        public init(code: PairingCode) { self.code = code }
    }

    public enum Input: Sendable {
        /// The connection that `.connectControl` asked for stands.
        case controlConnected
        /// Bytes of it, cut anywhere.
        case controlBytes([UInt8])
        /// It could not be made, or has ended; `reason` in words for a person.
        case controlClosed(reason: String)
        /// Discovery has seen the host (again): don't wait for the next try.
        case hostAppeared
        /// The socket that `.openMedia` asked for is bound to this local port.
        case mediaOpened(localPort: UInt16)
        /// It could not be made, or an error came back; the watchdog goes on.
        case mediaFailed(reason: String)
        /// The decoder could not use what was delivered: nothing more until the next keyframe.
        case decoderFailed
        case shutdown
    }

    public enum Output: Sendable {
        /// Look the host up afresh and connect to its control port.
        case connectControl
        case sendControl([UInt8])
        case closeControl
        /// A fresh UDP socket, connected to the control connection's address and this port; an older one is closed.
        case openMedia(port: UInt16)
        case closeMedia
        case sendMedia([UInt8])
        /// The next frame to decode: in order, complete, decodable given what was delivered before.
        case deliver(AccessUnit)
        case event(ViewerEvent)
        /// Nothing more to do until then, or until something happens.
        case wait(until: MediaTime)
    }

    /// What the session wakes up for.
    enum Purpose: Hashable, Sendable {
        case control
        case media
        /// A frame has waited for its missing parts for too long.
        case reassembly
    }

    private let configuration: Configuration
    private var outputs = OutputQueue<Output>()
    private var deadlines = Deadlines<Purpose>()
    private var control = ViewerControl()
    private var lines = LineBuffer()
    private var strikes = 0
    /// The session that the host has let us into, where it has named it.
    private var session: String?
    /// A port that was named before the reply, on the present connection.
    private var earlyPort: UInt16?
    /// What the host has said last.
    private var isBroadcasting: Bool?
    private var media = MediaLiveness()
    private var reassembler = Reassembler()

    public init(configuration: Configuration) {
        self.configuration = configuration
        deadlines.set(.control, at: MediaTime(nanoseconds: .min))
    }

    public var statistics: ViewerStatistics { reassembler.statistics }

    /// Something happened. What comes too late, or out of turn, is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        if case .ended = control.state { return }
        switch input {
        case .controlConnected:
            lines = LineBuffer()
            strikes = 0
            earlyPort = nil
            perform(control.connected(now: now), now: now)
        case .controlBytes(let bytes): controlBytes(bytes, now: now)
        case .controlClosed(let reason): perform(control.closed(reason: reason, now: now), now: now)
        case .hostAppeared: perform(control.hostAppeared(now: now), now: now)
        case .mediaOpened(let port): perform(media.opened(localPort: port, now: now))
        case .mediaFailed: perform(media.failed(now: now))
        case .decoderFailed: reassembler.decoderFailed()
        case .shutdown: end()
        }
        armDeadlines()
    }

    /// A datagram has come to the media socket.
    public mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, now: MediaTime) {
        guard media.isOpen else { return }
        if reassembler.insert(bytes, now: now), let action = media.datagram(now: now) { perform([action]) }
        deliver()
        armDeadlines()
    }

    /// The next thing to do; `.wait` when everything is done for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            guard let purpose = deadlines.popDue(now) else { return .wait(until: deadlines.next) }
            switch purpose {
            case .control:
                perform(control.start(now: now), now: now)
                perform(control.deadlineReached(now: now), now: now)
            case .media:
                perform(media.deadlineReached(now: now))
            case .reassembly:
                reassembler.expire(now: now)
                deliver()
            }
            armDeadlines()
        }
    }

    // MARK: Control

    private mutating func controlBytes(_ bytes: [UInt8], now: MediaTime) {
        guard control.isConnected else { return }
        var complete: [ArraySlice<UInt8>] = []
        var excess: LineBuffer.LineTooLong?
        do {
            try lines.append(bytes) { complete.append($0) }
        } catch {
            excess = error
        }
        for line in complete {
            // Any of them may be the connection's last.
            guard control.isConnected else { return }
            control.lineCame(now: now)
            do {
                handle(try ControlMessage(line: line), now: now)
            } catch {
                strikes += 1
                guard strikes == ViewerTiming.strikes else { continue }
                perform(control.violated(reason: "it sent \(error), time and again", now: now), now: now)
            }
        }
        if let excess { perform(control.violated(reason: "it sent \(excess)", now: now), now: now) }
    }

    private mutating func handle(_ message: ControlMessage, now: MediaTime) {
        switch message {
        case .reply(let reply):
            if reply.isAccepted {
                accepted(reply, now: now)
            } else {
                emit(.refused(reason: reply.message ?? "the host gave no reason"))
                end()
            }
        case .mediaPort(let port):
            earlyPort = port
            guard control.isPaired else { return }
            mediaPortNamed(port, now: now)
        case .broadcast(let isOn):
            media.broadcast(isOn, now: now)
            guard isOn != isBroadcasting else { return }
            isBroadcasting = isOn
            emit(.broadcast(isOn))
        case .heartbeat, .handshake, .mediaSource, .unknown:
            break
        }
    }

    private mutating func accepted(_ reply: ControlMessage.Reply, now: MediaTime) {
        let isNews = control.accepted(now: now)
        let isSameSession = reply.session != nil && reply.session == session
        let port = reply.mediaPort ?? earlyPort
        if isSameSession {
            if isNews {
                emit(.paired(session: reply.session ?? "", deviceName: reply.deviceName, isNewSession: false))
                emit(.controlRestored)
                if let localPort = media.localPort { send(.mediaSource(localPort)) }
            }
            if let port { mediaPortNamed(port, now: now) }
        } else if isNews || reply.session != nil {
            session = reply.session
            isBroadcasting = nil
            reassembler.reset()
            emit(.paired(session: reply.session ?? "", deviceName: reply.deviceName, isNewSession: true))
            media.broadcast(nil, now: now)
            if let port {
                perform(media.start(port: port, isNewSession: true, now: now))
            } else {
                perform(media.stop())
            }
        }
    }

    private mutating func mediaPortNamed(_ port: UInt16, now: MediaTime) {
        perform(media.start(port: port, isNewSession: false, now: now))
    }

    // MARK: Media

    private mutating func deliver() {
        while let unit = reassembler.nextFrame() { outputs.append(.deliver(unit)) }
    }

    // MARK: What the state machines decide

    private mutating func perform(_ actions: [ViewerControl.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .connect(let attempt):
                emit(.connecting(attempt: attempt))
                outputs.append(.connectControl)
            case .close:
                outputs.append(.closeControl)
            case .sendHandshake:
                send(.handshake(ControlMessage.Handshake(code: configuration.code)))
                emit(.waitingForDecision(code: configuration.code))
            case .sendHeartbeat:
                send(.heartbeat)
            case .lost(let reason):
                emit(.controlLost(reason: reason))
                // Whether it is sharing is anybody's guess from now on: watch the media.
                media.broadcast(nil, now: now)
            case .retry(let pause, let reason):
                emit(.retrying(after: pause, reason: reason))
            }
        }
    }

    private mutating func perform(_ actions: [MediaLiveness.Action]) {
        for action in actions {
            switch action {
            case .open(let port): outputs.append(.openMedia(port: port))
            case .close: outputs.append(.closeMedia)
            case .hello: outputs.append(.sendMedia(MediaLimits.hello))
            case .announce(let port): if control.isPaired { send(.mediaSource(port)) }
            case .tell(let event): emit(event)
            }
        }
    }

    private mutating func end() {
        perform(media.stop())
        for action in control.end() where action == .close { outputs.append(.closeControl) }
        reassembler.reset()
    }

    private mutating func emit(_ event: ViewerEvent) { outputs.append(.event(event)) }

    private mutating func send(_ message: ControlMessage) { outputs.append(.sendControl(message.line)) }

    private mutating func armDeadlines() {
        func arm(_ purpose: Purpose, _ time: MediaTime?) {
            if let time { deadlines.set(purpose, at: time) } else { deadlines.cancel(purpose) }
        }
        if case .idle = control.state {} else { arm(.control, control.deadline) }
        arm(.media, media.deadline)
        arm(.reassembly, reassembler.deadline)
    }
}
