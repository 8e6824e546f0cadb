import BeamMedia

/// A host's protocol without I/O: inputs from viewers and the encoder go in, outputs to send come out.
///
/// It routes between four parts that don't reach into one another: the `Lobby` admits viewers; the `HostStream` cuts
/// and seals each frame once; a `Sender` for each viewer sends it at that viewer's pace; the estimators in `Path`
/// estimate the bandwidth of its path.
///
/// Call a `handle…` method for each event, then `pollOutput` until it returns `.wait`.
public struct HostSession: Sendable {
    public struct Configuration: Sendable {
        public static let defaultViewers = 64
        /// An upper bound above what one network thread serves: `Scripts/bench crowd` measures 200 viewers.
        public static let mostViewersPossible = 1000

        /// What to do with an unknown viewer that has no valid code.
        public var acceptance: Acceptance
        /// The host's name, as shown to viewers. (In version 1 it is added to the reply as `deviceName`, which other
        /// implementations ignore.)
        public var deviceName: String?
        public var trust: HostTrust
        /// Admit version 1 viewers, too. Their stream isn't encrypted: everybody on the network can read it.
        public var allowsUnencrypted: Bool
        /// The highest pacing rate, and how much may wait to be sent.
        public var pacing: Pacing
        /// The encoder's highest rate in bits a second.
        public var bitRate: Int
        /// The full layer is 4:4:4. Viewers that can't decode that get the reduced layer.
        public var usesFullChroma: Bool
        /// The most viewers at a time.
        public var mostViewers: Int
        /// Captions, notes, alerts and messages; nil: none.
        public var room: LogOptions?
        /// There may be sound (`handleSound`).
        public var hasSound = false

        public init(
            acceptance: Acceptance, deviceName: String? = nil, trust: HostTrust, allowsUnencrypted: Bool = false,
            pacing: Pacing = Pacing(), bitRate: Int = 20_000_000, usesFullChroma: Bool = false,
            mostViewers: Int = defaultViewers, room: LogOptions? = nil
        ) {
            self.acceptance = acceptance
            self.deviceName = deviceName
            self.trust = trust
            self.allowsUnencrypted = allowsUnencrypted
            self.pacing = pacing
            self.bitRate = bitRate
            self.usesFullChroma = usesFullChroma
            self.mostViewers = mostViewers
            self.room = room
        }
    }

    public enum Acceptance: String, Sendable, CaseIterable { case ask, all, none }

    public enum Input: Sendable {
        /// A TCP connection was accepted.
        case connectionOpened(ConnectionID, from: IPAddress)
        /// Bytes of a version 1 connection, in chunks of any size.
        case connectionBytes(ConnectionID, [UInt8])
        /// A version 2 connection: TLS is established, and the peer has proved that it holds this key.
        case connectionSecured(ConnectionID, DeviceKey)
        /// A message of a version 2 connection, without its length field.
        case connectionMessage(ConnectionID, [UInt8])
        /// The peer has sent what isn't of the protocol; nothing more is read from it. `reason` is a part of a
        /// sentence.
        case connectionViolated(ConnectionID, reason: String)
        /// The connection was closed by either side. `tlsFailure`: why TLS failed, if it did; a part of a sentence.
        case connectionClosed(ConnectionID, tlsFailure: String? = nil)
        /// The person's answer to `.viewerAsks`, `.comparisonAsked` or `.digitsShown`.
        case decision(ConnectionID, accept: Bool)
        /// The paired devices and their names as stored now. A device that is missing was removed.
        case remembered([DeviceKey: String])
        /// The list of paired devices has changed, and can't be read.
        case rememberedUnreadable
        /// In a room: its code, and what is counted there of wrong tries.
        case roomCode(MeshCodeState)
        /// In a room, about `HostEvent.codeTried`: the proof may be checked; `pause`: it may not for so long.
        case codeVerdict(ConnectionID, pause: Duration?)
        /// Evict this viewer for now: it may come again a minute later.
        case sendAway(Guest.Identity)
        /// Evict this device, and refuse it until the host ends.
        case block(DeviceKey)
        /// The same for version 1 viewers of an address.
        case blockAddress(IPAddress)
        /// Replace the code by this one.
        case code(PairingCode)
        /// Replace the code by a random one, if there is one.
        case renewCode
        /// The media socket is bound to this port, at first or anew.
        case mediaPort(UInt16)
        /// Whether the screen is being shared; no at first. No frame is sent until it is.
        case broadcast(Bool)
        /// Whether what is shared can be seen. It can at first.
        case sourceVisibility(SourceVisibility)
        /// The size of the full layer's pictures at full quality, at first or anew. Until it is known, every viewer gets
        /// that layer, however small it shows it.
        case pictureSize(PixelSize)
        /// Whether the full layer is also taken by somebody who isn't a viewer, at its full size and rate: a recording. No
        /// at first.
        case fullLayerKept(Bool)
        /// What this machine writes to the room.
        case room(LogInput)
        /// Nobody new is let in for this reason (without a full stop), whatever else is set; nil: not any more.
        case closedToNew(reason: String?)
        /// Whether somebody at another machine can be asked about newcomers; counts if `acceptance` is none. No at first.
        case asksElsewhere(Bool)
        /// Viewers of version 2 that come from now on are told this name. Nobody may be pairing.
        case named(String)
        /// What viewers are told at the end, without a full stop.
        case farewell(String)
        /// How far this machine is behind, some times a second while it sends.
        case machineLoad(MachineLoad)
        /// The system refused to send to this address (port unreachable, no route).
        case sendFailed(NetworkAddress)
        /// Announce the end, and close all connections.
        case shutdown
    }

    public enum Output: Sendable {
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case send(ConnectionID, [UInt8])
        /// Close once everything sent so far has left.
        case close(ConnectionID)
        case transmit(MediaBurst)
        /// The layer's next frame has to be a keyframe; it is needed even if the screen doesn't change.
        case requestKeyframe(layer: Int)
        /// The demand on the layer's encoder has changed.
        case demand(StreamDemand, layer: Int)
        /// Which encodings of the sound viewers want has changed; none at first.
        case soundDemand(SoundDemand)
        case event(HostEvent)
        /// Nothing to do until this deadline or the next input. `for` says what the deadline is for; nil if there is
        /// none.
        case wait(until: MediaTime, for: HostWaitReason?)
    }

    let configuration: Configuration
    var outputs = OutputQueue<Output>()
    var isEnded = false

    var lobby: Lobby
    var stream: HostStream
    var senders = Senders()
    /// Viewers behind one bottleneck, when they were looked at last, and the layer that they get: since when.
    var shared = SharedBottleneck()
    var sharedUpdate = MediaTime(nanoseconds: .min / 2)
    var sharedLayer: (layer: Int, since: MediaTime)?
    /// When one of them got a keyframe beyond its budget last.
    var sharedKeyframe = MediaTime(nanoseconds: .min / 2)
    /// Since when another layer is better for them.
    var sharedLayerSince: MediaTime?
    /// What is sent less of because the machine can't send everything; and what had left when its load was measured last.
    var shedding = LoadShedding()
    var loadMeasurement: (time: MediaTime, bytes: UInt64)?
    /// Somebody who isn't a viewer takes the full layer, too: no viewer slows it down.
    var isFullLayerKept = false
    /// Of the full layer, at full quality.
    var pictureSize: PixelSize?
    /// Captions, notes, alerts and messages; nil without `Configuration.room`.
    var room: LogExchange?
    /// Viewers to evict, and why. They are evicted after the present input is handled, because the list of senders
    /// mustn't change while it is iterated.
    var pendingEvictions: [(id: ViewerID, reason: String)] = []
    /// The number of the viewer key made last.
    var lastKeyNumber: UInt16 = 0
    /// Who gets sound, or at which rate, may have changed.
    var isSoundDirty = false
    /// Layers whose demand may have changed.
    var isDirty = [Bool](repeating: false, count: SimulcastLayer.count)
    /// For each layer, frames dropped since its last keyframe because all its viewers have fallen behind; nil while
    /// none was.
    var dropped = [Int?](repeating: nil, count: SimulcastLayer.count)
    /// The hysteresis of devices that were moved out of the full layer, the latest last. It is kept when such a device
    /// reconnects.
    var layerHistory: [(device: DeviceKey, hysteresis: LayerHysteresis)] = []
    /// Memory for bursts of retransmissions, reused.
    var retransmissionMemory: [UInt8] = []
    /// Memory for the plaintext of a viewer's datagram, reused.
    var opened: [UInt8] = []
    /// Memory for a state datagram, reused once it has been sent.
    var sealedState: [UInt8] = []
    /// Memory for the arrivals of a report, reused.
    var arrivals: [Feedback.Arrival] = []
    var audience = 0
    var totals = HostStatistics()

    /// `random` makes keys, nonces and session IDs: has to be the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        lobby = Lobby(configuration: configuration, random: random)
        stream = HostStream(configuration.pacing, random: &lobby.random)
        room = configuration.room.map {
            LogExchange(
                LogExchange.Configuration(
                    role: .keeper, own: configuration.trust.own, name: $0.name, signing: $0.signing,
                    takesNotes: $0.takesNotes),
                random: lobby.random)
        }
    }

    /// Handles an event. Events about connections and questions that no longer exist are ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        lobby.begin(now: now)
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
        case .sendAway(let viewer): lobby.sendAway(viewer, now: now)
        case .block(let device): lobby.block(device, now: now)
        case .blockAddress(let address): lobby.block(address, now: now)
        case .code(let next): lobby.giveCode(next, now: now)
        case .renewCode: lobby.renewCode(.asked, now: now)
        case .roomCode(let state): lobby.roomCode(state, now: now)
        case .codeVerdict(let id, let pause): lobby.codeVerdict(id, pause: pause, now: now)
        case .decision(let id, let accept): lobby.decided(id, accept: accept, now: now)
        case .mediaPort(let port): lobby.mediaPortChanged(port)
        case .broadcast(let isOn): broadcastChanged(isOn, now: now)
        case .sourceVisibility(let visibility): lobby.sourceVisibilityChanged(visibility)
        case .pictureSize(let size): pictureSizeChanged(size, now: now)
        case .fullLayerKept(let isKept): fullLayerKeptChanged(isKept, now: now)
        case .room(let input): room?.handle(input, now: now)
        case .closedToNew(let reason): lobby.closedToNew = reason
        case .asksElsewhere(let asks): lobby.asksElsewhere = asks
        case .named(let name): lobby.shownName = name
        case .farewell(let reason): lobby.farewell = reason
        case .machineLoad(let load): loadMeasured(load, now: now)
        case .sendFailed(let address): sendFailed(address, now: now)
        case .shutdown: return shutdown(now: now)
        }
        settleLobby(now: now)
    }

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if isEnded { return .wait(until: .distantFuture, for: nil) }
            lobby.begin(now: now)
            if let eviction = pendingEvictions.popLast() {
                lobby.evict(eviction.id, reason: eviction.reason, now: now)
                settleLobby(now: now)
            } else if let purpose = lobby.deadlines.popDue(now) {
                lobby.deadlineReached(purpose, now: now)
                settleLobby(now: now)
            } else if let deadline = room?.deadline, deadline <= now {
                settleRoom(now: now)
            } else if let deadline = stream.deadline, deadline <= now {
                streamDeadlineReached(now: now)
            } else if let index = senders.takeDue(now) {
                perform(senders.all[index].deadlineReached(now: now), of: index, now: now)
            } else if let index = senders.nextReady() {
                if let burst = serve(index, now: now) { return .transmit(burst) }
            } else if !changeDemands(now: now) {
                return wait()
            }
        }
    }

    /// Mutating, because the compiler would copy the whole session for it otherwise.
    private mutating func wait() -> Output {
        let control = min(lobby.deadlines.next, room?.deadline ?? .distantFuture)
        let (stream, sender) = (stream.deadline ?? .distantFuture, senders.nextWait)
        let next = min(control, stream, sender?.until ?? .distantFuture)
        if next == .distantFuture { return .wait(until: next, for: nil) }
        if next == control { return .wait(until: next, for: .control) }
        if next == stream { return .wait(until: next, for: .stream) }
        return .wait(until: next, for: sender.map { .viewer($0.for) })
    }

    private mutating func shutdown(now: MediaTime) {
        room?.handle(.alert(.leaving), now: now)
        room?.sendLast(now: now)
        settleRoom(now: now)
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
