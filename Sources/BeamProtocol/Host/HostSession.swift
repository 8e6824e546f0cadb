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
        /// How fast frames leave at most, and how much may wait.
        public var pacing: Pacing
        /// What the encoder makes at most, in bits a second: no path has to carry more.
        public var bitRate: Int
        /// Lane 0 is 4:4:4: viewers that can't decode it get lane 1.
        public var usesFullChroma: Bool

        public init(
            acceptance: Acceptance, deviceName: String? = nil, trust: HostTrust, allowsUnencrypted: Bool = false,
            pacing: Pacing = Pacing(), bitRate: Int = 20_000_000, usesFullChroma: Bool = false
        ) {
            self.acceptance = acceptance
            self.deviceName = deviceName
            self.trust = trust
            self.allowsUnencrypted = allowsUnencrypted
            self.pacing = pacing
            self.bitRate = bitRate
            self.usesFullChroma = usesFullChroma
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
        /// The person's answer to `.viewerAsks`, `.comparisonAsked` or `.digitsShown`.
        case decision(ConnectionID, accept: Bool)
        /// The viewers that the store remembers now; who is missing was forgotten.
        case remembered([DeviceKey: String])
        /// The store has changed, and can't be read at the moment.
        case rememberedUnreadable
        /// Whatever let this device in, it is out, and stays out until the host ends.
        case sendAway(DeviceKey)
        /// The same for the version 1 viewers of an address.
        case sendAwayAddress(IPAddress)
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
        /// Close after everything sent so far has left.
        case close(ConnectionID)
        case transmit(MediaBurst)
        /// The lane's next encoded frame has to be a keyframe, also when the screen stands still.
        case requestKeyframe(lane: Int)
        /// What the lane's encoder is to make has changed.
        case demand(StreamDemand, lane: Int)
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
        /// Refused connections are summed up.
        case refusals
        /// An address hasn't been proved in time.
        case proof(ViewerID)
        /// The next media key is used, whoever may not have it yet.
        case mediaKey
        /// Another media key may be given out.
        case nextMediaKey
        case keyframe(lane: Int)
        /// Nothing has left for a moment.
        case tail(lane: Int)
        case pacer(lane: Int)
        /// Something can be sent to a viewer once more.
        case repair(ViewerID)
        /// A viewer may have been silent for too long, or is, and has to be asked whether it is there.
        case path(ViewerID)
        /// A viewer may have kept the others of its lane waiting for too long.
        case lane(Int)
    }

    let configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()
    var deadlines = Deadlines<Purpose>()
    var isEnded = false

    var connections: [ConnectionID: HostConnection] = [:]
    var ledger = ConnectionLedger()
    var refusals = RefusalLog()
    /// Where known devices were let in from, the latest last.
    var favoured: [IPAddress] = []
    /// In the order of their coming.
    var viewers: [PairedViewer] = []
    var lastViewer: UInt64 = 0
    var desk = PairingDesk()
    let trust: HostTrust
    var book: TrustBook
    var barred = BarredPeers()
    var code: HostCode
    var codeGuard = CodeGuard()
    var comparisonGuard = ComparisonGuard()
    var mediaKeys: MediaKeys
    /// When the last media key was given out.
    var lastKeyChange: MediaTime?
    /// Of the viewers' own keys.
    var lastKeyNumber: UInt16 = 0
    var mediaPort: UInt16?
    var isBroadcasting = false

    var lanes: [Lane]
    /// Of the devices that were moved out of the full lane, the one that was moved last at the end.
    var standings: [(device: DeviceKey, standing: LaneStanding)] = []
    /// Seals what all lanes send.
    var sealer: DatagramSealer
    /// The datagrams that are sent again, one burst after the other in the same memory.
    var repairMemory: [UInt8] = []
    /// What a viewer's datagram says, until the next one; its memory is used again.
    var opened: [UInt8] = []
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
        sealer = DatagramSealer(key: mediaKeys.current)
        lanes = (0..<Lane.count).map { Lane($0, configuration.pacing) }
        for lane in lanes.indices { lanes[lane].pacer.use(sealer) }
        self.random = random
    }

    public var statistics: HostStatistics {
        var statistics = totals
        statistics.viewers = viewers.count
        statistics.watching = audience
        statistics.parity = lanes.reduce(0) { $0 + $1.pacer.parityDatagrams }
        let bound = viewers.compactMap { $0.delivery?.path }.filter { $0.isBound && !$0.isSilent }
        statistics.pathRate = bound.map(\.rate).min()
        return statistics
    }

    /// Something happened. What is said of connections and questions that are gone is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        switch input {
        case .connectionOpened(let id, let address): connectionOpened(id, from: address, now: now)
        case .connectionBytes(let id, let bytes): connectionBytes(id, bytes, now: now)
        case .connectionSecured(let id, let device): connectionSecured(id, device: device, now: now)
        case .connectionMessage(let id, let bytes): connectionMessage(id, bytes, now: now)
        case .connectionClosed(let id, let trouble): connectionEnded(id, trouble: trouble, now: now)
        case .remembered(let devices): rememberedChanged(devices, now: now)
        case .rememberedUnreadable: book.becomeStale()
        case .sendAway(let device): sendAway(device, now: now)
        case .sendAwayAddress(let address): sendAway(address, now: now)
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
            } else if changeDemands(now: now) {
                continue
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
        case .refusals:
            sumUpRefusals(now: now)
        case .proof(let id):
            proofMissed(id)
        case .mediaKey:
            advanceMediaKey(now: now)
        case .nextMediaKey:
            replaceMediaKey(now: now)
        case .keyframe(let lane):
            perform(lanes[lane].keyframes.deadlineReached(now: now), lane: lane)
        case .tail(let lane):
            tailReached(lane: lane, now: now)
        case .path(let id):
            checkPath(id, now: now)
        case .pacer, .repair, .lane:
            break  // Whether something may leave is asked anyway.
        }
    }

    private mutating func shutdown() {
        isBroadcasting = false
        announce(.broadcast(false), .bye("The host has ended"))
        for id in connections.keys.sorted(by: { $0.value < $1.value }) { outputs.append(.close(id)) }
        connections = [:]
        ledger.removeAll()
        viewers = []
        audience = 0
        lanes = lanes.map { Lane($0.number, configuration.pacing) }
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
