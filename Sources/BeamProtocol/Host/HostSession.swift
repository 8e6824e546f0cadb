import BeamMedia

/// A host's whole protocol, without I/O: what viewers say goes in, what to send to whom comes out.
///
/// It routes between four parts, none of which reaches into another: the `Lobby` lets viewers in, the `HostStream` cuts and seals each
/// frame once, a `Sender` for each viewer takes it from there at its own pace, and the estimators in `Path` judge what its path carries.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it answers `.wait`.
public struct HostSession: Sendable {
    public struct Configuration: Sendable {
        public static let defaultViewers = 64
        /// What one network thread can serve, by far: `Scripts/bench crowd` measures 200.
        public static let mostViewersPossible = 1000

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
        /// The full layer is 4:4:4: viewers that can't decode it get the reduced one.
        public var usesFullChroma: Bool
        /// Viewers that are let in at a time.
        public var mostViewers: Int

        public init(
            acceptance: Acceptance, deviceName: String? = nil, trust: HostTrust, allowsUnencrypted: Bool = false,
            pacing: Pacing = Pacing(), bitRate: Int = 20_000_000, usesFullChroma: Bool = false,
            mostViewers: Int = defaultViewers
        ) {
            self.acceptance = acceptance
            self.deviceName = deviceName
            self.trust = trust
            self.allowsUnencrypted = allowsUnencrypted
            self.pacing = pacing
            self.bitRate = bitRate
            self.usesFullChroma = usesFullChroma
            self.mostViewers = mostViewers
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
        /// What has come on it isn't of the protocol; nothing more is read of it. A part of a sentence.
        case connectionViolated(ConnectionID, reason: String)
        /// It has ended, from whichever side. `tlsFailure`: what went wrong while it was to be secured, a part of a sentence.
        case connectionClosed(ConnectionID, tlsFailure: String? = nil)
        /// The person's answer to `.viewerAsks`, `.comparisonAsked` or `.digitsShown`.
        case decision(ConnectionID, accept: Bool)
        /// The viewers that the store remembers now; who is missing was forgotten.
        case remembered([DeviceKey: String])
        /// The store has changed, and can't be read at the moment.
        case rememberedUnreadable
        /// Whatever let this device in, it is out, and stays out until the host ends.
        case block(DeviceKey)
        /// The same for the version 1 viewers of an address.
        case blockAddress(IPAddress)
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
        /// The layer's next encoded frame has to be a keyframe, also when the screen stands still.
        case requestKeyframe(layer: Int)
        /// What the layer's encoder is to make has changed.
        case demand(StreamDemand, layer: Int)
        case event(HostEvent)
        /// Nothing more to do until then, or until something happens. What there will be to do then: nil if nothing is due ever.
        case wait(until: MediaTime, for: HostWaitReason?)
    }

    let configuration: Configuration
    var outputs = OutputQueue<Output>()
    var isEnded = false

    /// Who comes in.
    var lobby: Lobby
    /// What is sent.
    var stream: HostStream
    /// To whom, and how fast.
    var senders = Senders()
    /// Viewers that have exceeded what any honest one needs, and why. They are evicted when what they said has been dealt with: nobody is
    /// taken off the list of senders while somebody goes through it.
    var pendingEvictions: [(id: ViewerID, reason: String)] = []
    /// Whose own keys were numbered last.
    var lastKeyNumber: UInt16 = 0
    /// Layers whose demand may have changed.
    var isDirty = [Bool](repeating: false, count: SimulcastLayer.count)
    /// Frames that each layer has dropped since its last keyframe, because all of its viewers have fallen behind; nil while none has.
    var dropped = [Int?](repeating: nil, count: SimulcastLayer.count)
    /// Of devices that were moved out of the full layer, the one that was moved last at the end.
    var layerHistory: [(device: DeviceKey, hysteresis: LayerHysteresis)] = []
    /// The datagrams that are sent again, one burst after the other in the same memory.
    var resendMemory: [UInt8] = []
    /// What a viewer's datagram says, until the next one; its memory is used again.
    var opened: [UInt8] = []
    var audience = 0
    var totals = HostStatistics()

    /// `random` makes keys, nonces and session IDs: pass the system's generator, but in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        lobby = Lobby(configuration: configuration, random: random)
        stream = HostStream(configuration.pacing, random: &lobby.random)
    }

    /// Something happened. What is said of connections and questions that are gone is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        switch input {
        case .connectionOpened(let id, let address): lobby.connectionOpened(id, from: address, now: now)
        case .connectionBytes(let id, let bytes): lobby.connectionBytes(id, bytes, now: now)
        case .connectionSecured(let id, let device): lobby.connectionSecured(id, device: device, now: now)
        case .connectionMessage(let id, let bytes): lobby.connectionMessage(id, bytes, now: now)
        case .connectionViolated(let id, let reason): lobby.violated(id, reason: reason, now: now)
        case .connectionClosed(let id, let tlsFailure):
            lobby.connectionEnded(id, tlsFailure: tlsFailure, now: now)
            settleLobby(now: now)
            checkMediaKey(now: now)
        case .remembered(let devices): lobby.rememberedChanged(devices, now: now)
        case .rememberedUnreadable: lobby.book.becomeStale()
        case .block(let device): lobby.block(device, now: now)
        case .blockAddress(let address): lobby.block(address, now: now)
        case .code(let next): lobby.replaceCode(next, now: now)
        case .decision(let id, let accept): lobby.decided(id, accept: accept, now: now)
        case .mediaPort(let port): lobby.mediaPortChanged(port)
        case .broadcast(let isOn): broadcastChanged(isOn, now: now)
        case .sendFailed(let address): sendFailed(address, now: now)
        case .shutdown: return shutdown(now: now)
        }
        settleLobby(now: now)
    }

    /// The next thing to do; `.wait` when everything is done for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if isEnded { return .wait(until: .distantFuture, for: nil) }
            if let eviction = pendingEvictions.popLast() {
                lobby.evict(eviction.id, reason: eviction.reason, now: now)
                settleLobby(now: now)
            } else if let purpose = lobby.deadlines.popDue(now) {
                lobby.deadlineReached(purpose, now: now)
                settleLobby(now: now)
            } else if let deadline = stream.deadline, deadline <= now {
                streamDeadlineReached(now: now)
            } else if let index = senders.takeDue(now) {
                perform(senders[index].deadlineReached(now: now), of: index, now: now)
            } else if let index = senders.nextReady() {
                if let burst = serve(index, now: now) { return .transmit(burst) }
            } else if !changeDemands(now: now) {
                return wait()
            }
        }
    }

    private func wait() -> Output {
        let (control, stream, sender) = (lobby.deadlines.next, stream.deadline ?? .distantFuture, senders.nextWake)
        let next = min(control, stream, sender)
        if next == .distantFuture { return .wait(until: next, for: nil) }
        if next == control { return .wait(until: next, for: .control) }
        if next == stream { return .wait(until: next, for: .stream) }
        return .wait(until: next, for: senders.nextWait.map { .viewer($0) })
    }

    private mutating func shutdown(now: MediaTime) {
        stream.isOn = false
        lobby.shutdown()
        settleLobby(now: now)
        senders.removeAll()
        pendingEvictions.removeAll()
        audience = 0
        stream.stopLayers()
        isEnded = true
    }

    mutating func emit(_ event: HostEvent) { outputs.append(.event(event)) }
}
