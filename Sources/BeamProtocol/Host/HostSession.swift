import BeamMedia

/// A host's whole protocol, without I/O: what viewers say goes in, what to send to whom comes out.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it answers `.wait`.
public struct HostSession: Sendable {
    public struct Configuration: Sendable {
        /// What becomes of a viewer that brings no code the host knows.
        public var acceptance: Acceptance
        /// What viewers call the host. (In version 1 it is added to the reply as `deviceName`, which others ignore.)
        public var deviceName: String?
        public var trust: HostTrust
        /// Version 1 viewers may come in too: what they see, everybody on the network can see.
        public var allowsUnencrypted: Bool
        /// How fast frames leave, and how much may wait.
        public var pacing: Pacing

        public init(
            acceptance: Acceptance, deviceName: String? = nil, trust: HostTrust, allowsUnencrypted: Bool = false,
            pacing: Pacing = Pacing()
        ) {
            self.acceptance = acceptance
            self.deviceName = deviceName
            self.trust = trust
            self.allowsUnencrypted = allowsUnencrypted
            self.pacing = pacing
        }
    }

    public enum Acceptance: String, Sendable, CaseIterable { case ask, all, none }

    public enum Input: Sendable {
        /// A TCP connection was accepted.
        case connectionOpened(ConnectionID, from: IPAddress)
        /// It is a version 1 connection, and these are bytes of it, cut anywhere.
        case connectionBytes(ConnectionID, [UInt8])
        /// It is a version 2 connection, and its other end has proved in TLS that it holds this key.
        case connectionSecured(ConnectionID, DeviceKey)
        /// A message of a version 2 connection, without the length in front.
        case connectionMessage(ConnectionID, [UInt8])
        /// It has ended, from whichever side. `trouble`: what went wrong while it was to be secured, a part of a sentence.
        case connectionClosed(ConnectionID, trouble: String? = nil)
        /// The person's answer to `.viewerAsks`.
        case decision(ConnectionID, accept: Bool)
        /// The viewers that the store remembers now; who is missing was forgotten.
        case remembered([DeviceKey: String])
        /// Another code to type.
        case code(PairingCode)
        /// The media socket is bound to this port, or has moved to it.
        case mediaPort(UInt16)
        /// The screen is (not) being shared. It isn't at first, and no frame is sent until it is.
        case broadcast(Bool)
        /// The system refused to send there (a port unreachable, a vanished route).
        case sendFailed(NetworkAddress)
        /// Broadcast off, viewers told, connections closed.
        case shutdown
    }

    public enum Output: Sendable {
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case send(ConnectionID, [UInt8])
        /// A version 2 connection's viewer is let in: its messages may be longer from now on.
        case admitted(ConnectionID)
        /// Close after everything sent so far has left.
        case close(ConnectionID)
        case transmit(MediaBurst)
        /// The next encoded frame has to be a keyframe, also when the screen stands still.
        case requestKeyframe
        case event(HostEvent)
        /// Nothing more to do until then, or until something happens.
        case wait(until: MediaTime)
    }

    /// What the session wakes up for.
    enum Purpose: Hashable, Sendable {
        /// A connection hasn't been let in for too long.
        case stranger(ConnectionID)
        case heartbeat(ConnectionID)
        /// A viewer may have left.
        case viewerSilence(ViewerID)
        /// The stream to a viewer may have to end.
        case streamSilence(ViewerID)
        case questions
        /// The next media key is used, whoever may not have it yet.
        case mediaKey
        case keyframe
        /// Nothing has left for a moment.
        case tail
        case pacer
    }

    let configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()
    var deadlines = Deadlines<Purpose>()
    var isEnded = false

    var connections: [ConnectionID: HostConnection] = [:]
    /// In the order of their coming.
    var viewers: [PairedViewer] = []
    var lastViewer: UInt64 = 0
    var desk = PairingDesk()
    let trust: HostTrust
    var book: TrustBook
    var code: HostCode
    var codeGuard = CodeGuard()
    var mediaKeys: MediaKeys
    /// Of the viewers' own keys.
    var lastKeyNumber: UInt16 = 0
    var mediaPort: UInt16?
    var isBroadcasting = false

    var pacer: Pacer
    /// What a viewer's datagram says, until the next one; its memory is used again.
    var opened: [UInt8] = []
    var keyframes = KeyframeSchedule()
    var tail = TailProbe()
    /// Frames were dropped: only a keyframe makes sense now. Counts those since.
    var droppedUntilKeyframe: Int?
    var audience = 0
    var totals = HostStatistics()

    /// `random` makes keys, nonces and session IDs: pass the system's generator, but in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        self.configuration = configuration
        trust = configuration.trust
        book = TrustBook(remembered: configuration.trust.remembered)
        code = configuration.trust.code
        mediaKeys = MediaKeys(random: &random)
        pacer = Pacer(configuration.pacing, firstNumber: SequenceNumber(0))
        pacer.use(mediaKeys.current)
        self.random = random
    }

    public var statistics: HostStatistics {
        var statistics = totals
        statistics.viewers = viewers.count
        statistics.watching = audience
        return statistics
    }

    /// Something happened. What is said of connections and questions that are gone is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        switch input {
        case .connectionOpened(let id, let address): connectionOpened(id, from: address, now: now)
        case .connectionBytes(let id, let bytes): connectionBytes(id, bytes, now: now)
        case .connectionSecured(let id, let device): connectionSecured(id, device: device)
        case .connectionMessage(let id, let bytes): connectionMessage(id, bytes, now: now)
        case .connectionClosed(let id, let trouble): connectionEnded(id, trouble: trouble, now: now)
        case .remembered(let devices): rememberedChanged(devices, now: now)
        case .code(let next):
            code.replace(next)
            withdrawProofs(but: nil, now: now)
            emit(.codeChanged(code.current))
        case .decision(let id, let accept): decided(id, accept: accept, now: now)
        case .mediaPort(let port): mediaPortChanged(port)
        case .broadcast(let isOn): broadcastChanged(isOn, now: now)
        case .sendFailed(let address): sendFailed(address)
        case .shutdown: shutdown()
        }
    }

    /// The next thing to do; `.wait` when everything is done for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if let purpose = deadlines.popDue(now) {
                deadlineReached(purpose, now: now)
            } else if let output = nextBurst(now: now) {
                return output
            } else if deadlines.next > now {
                return .wait(until: deadlines.next)
            }
        }
    }

    private mutating func deadlineReached(_ purpose: Purpose, now: MediaTime) {
        switch purpose {
        case .stranger(let id): strangerTimedOut(id, now: now)
        case .heartbeat(let id): sendHeartbeat(id, now: now)
        case .viewerSilence(let id): checkViewer(id, now: now)
        case .streamSilence(let id): checkStream(id, now: now)
        case .questions:
            for id in desk.expire(now: now) { emit(.askWithdrawn(id)) }
            armQuestions()
        case .mediaKey:
            advanceMediaKey(now: now)
        case .keyframe:
            perform(keyframes.deadlineReached(now: now))
        case .tail:
            tailReached(now: now)
        case .pacer:
            break  // The pacer is asked anyway.
        }
    }

    private mutating func shutdown() {
        isBroadcasting = false
        announce(.broadcast(false), .bye("The host has ended"))
        for id in connections.keys.sorted(by: { $0.value < $1.value }) { outputs.append(.close(id)) }
        connections = [:]
        viewers = []
        audience = 0
        pacer = Pacer(configuration.pacing, firstNumber: SequenceNumber(0))
        keyframes.stop()
        deadlines.cancelAll()
        isEnded = true
    }

    // MARK: Shorthands

    mutating func emit(_ event: HostEvent) { outputs.append(.event(event)) }

    mutating func send(_ message: ControlMessage, to id: ConnectionID) { outputs.append(.send(id, message.line)) }

    mutating func send(_ message: SecureMessage, to id: ConnectionID) { outputs.append(.send(id, message.bytes)) }

    /// To every viewer with a control connection, in its own version.
    mutating func announce(_ line: ControlMessage, _ message: SecureMessage) {
        for viewer in viewers {
            guard let control = viewer.control else { continue }
            if viewer.isSecure { send(message, to: control) } else { send(line, to: control) }
        }
    }

    func index(of id: ViewerID) -> Int? { viewers.firstIndex { $0.id == id } }

    mutating func armQuestions() {
        if let time = desk.deadline { deadlines.set(.questions, at: time) } else { deadlines.cancel(.questions) }
    }
}
