import BeamMedia

/// A host's protocol without I/O: inputs from viewers and the encoder go in, outputs to send come out.
///
/// It joins three parts that don't know one another: a lobby lets viewers in, a `Broadcast` sends them the stream, and a
/// room has what is written.
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
    private(set) var lobby: Lobby
    private(set) var broadcast: Broadcast
    /// Captions, notes, alerts and messages; nil without `Configuration.room`.
    private(set) var room: LogExchange?
    private var outputs = OutputQueue<Output>()
    private var isEnded = false
    /// Viewers to evict, and why: once everything that was decided before has been passed on.
    private var pendingEvictions: [(id: ViewerID, reason: String)] = []

    /// `random` makes keys, nonces and session IDs: has to be the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        broadcast = Broadcast(
            configuration: Broadcast.Configuration(
                pacing: configuration.pacing, bitRate: configuration.bitRate,
                usesFullChroma: configuration.usesFullChroma, hasSound: configuration.hasSound),
            random: random)
        lobby = Lobby(configuration: configuration, mediaKey: broadcast.stream.keys.current, random: broadcast.random)
        room = configuration.room.map {
            LogExchange(
                LogExchange.Configuration(
                    role: .keeper, own: configuration.trust.own, name: $0.name, signing: $0.signing,
                    takesNotes: $0.takesNotes),
                random: broadcast.random)
        }
    }

    /// Handles an event. Events about connections and questions that no longer exist are ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        // What the broadcast has decided before goes first.
        passOnBroadcast(now: now)
        lobby.begin(now: now)
        switch input {
        case .connectionOpened(let id, let address): lobby.connectionOpened(id, from: address, now: now)
        case .connectionBytes(let id, let bytes): lobby.connectionBytes(id, bytes, now: now)
        case .connectionSecured(let id, let device): lobby.connectionSecured(id, device: device, now: now)
        case .connectionMessage(let id, let bytes): lobby.connectionMessage(id, bytes, now: now)
        case .connectionViolated(let id, let reason): lobby.violated(id, reason: reason, now: now)
        case .connectionClosed(let id, let tlsFailure):
            lobby.connectionEnded(id, tlsFailure: tlsFailure, now: now)
            settle(now: now)
            broadcast.checkMediaKey(now: now)
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
        case .broadcast(let isOn): turn(on: isOn, now: now)
        case .sourceVisibility(let visibility): lobby.sourceVisibilityChanged(visibility)
        case .pictureSize(let size): broadcast.pictureSizeChanged(size, now: now)
        case .fullLayerKept(let isKept): broadcast.fullLayerKeptChanged(isKept, now: now)
        case .room(let input): room?.handle(input, now: now)
        case .closedToNew(let reason): lobby.closedToNew = reason
        case .asksElsewhere(let asks): lobby.asksElsewhere = asks
        case .named(let name): lobby.shownName = name
        case .farewell(let reason): lobby.farewell = reason
        case .machineLoad(let load): broadcast.loadMeasured(load, now: now)
        case .sendFailed(let address): broadcast.sendFailed(address, now: now)
        case .shutdown: return shutdown(now: now)
        }
        settle(now: now)
    }

    /// Takes an encoded frame. It is sent to every viewer of its layer, as fast as each path allows, with a sequence
    /// number of the session.
    public mutating func handleFrame(_ frame: EncodedFrame, now: MediaTime) {
        if !isEnded { broadcast.handleFrame(frame, now: now) }
    }

    /// Takes 10 ms of encoded sound. `number`: the one that it has already, because it is passed on for another host.
    public mutating func handleSound(_ sound: EncodedSound, number: UInt32? = nil, now: MediaTime) {
        if !isEnded { broadcast.handleSound(sound, number: number, now: now) }
    }

    /// Takes a datagram from the media socket. Only a hello sealed with a viewer's own key counts; in version 1, one
    /// from an admitted viewer's address.
    public mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, from address: NetworkAddress, now: MediaTime) {
        if !isEnded { broadcast.handleDatagram(bytes, from: address, now: now) }
    }

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if isEnded { return .wait(until: .distantFuture, for: nil) }
            if let decided = broadcast.popOutput() {
                if let output = carryOut(decided, now: now) { return output }
                continue
            }
            lobby.begin(now: now)
            if let eviction = pendingEvictions.popLast() {
                lobby.evict(eviction.id, reason: eviction.reason, now: now)
                settle(now: now)
            } else if let purpose = lobby.deadlines.popDue(now) {
                lobby.deadlineReached(purpose, now: now)
                settle(now: now)
            } else if let deadline = room?.deadline, deadline <= now {
                settle(now: now)
            } else if let output = carryOut(broadcast.pollOutput(now: now), now: now) {
                return output
            }
        }
    }

    // MARK: What the parts have decided

    /// Carries out what the broadcast has decided. Returns what is for the session's owner; nil: nothing is.
    private mutating func carryOut(_ output: Broadcast.Output, now: MediaTime) -> Output? {
        switch output {
        case .transmit(let burst): return .transmit(burst)
        case .requestKeyframe(let layer): return .requestKeyframe(layer: layer)
        case .demand(let demand, let layer): return .demand(demand, layer: layer)
        case .soundDemand(let demand): return .soundDemand(demand)
        case .event(let event): return .event(event)
        case .wait(let until, let reason): return wait(until: until, for: reason)
        case .mediaKeyMade(let key): lobby.announce(key)
        case .mediaKeyUsed: lobby.mediaKeyUsed()
        case .fullSize(let id, let size): lobby.tellFullSize(size, to: id)
        case .overloaded(let isOverloaded): lobby.isOverloaded = isOverloaded
        case .evict(let id, let reason): evict(id, reason: reason)
        }
        passOnLobby(now: now)
        return nil
    }

    /// The lobby's and the room's deadlines may come before the broadcast's.
    private mutating func wait(until: MediaTime, for reason: HostWaitReason?) -> Output {
        let control = min(lobby.deadlines.next, room?.deadline ?? .distantFuture)
        return control <= until && control < .distantFuture
            ? .wait(until: control, for: .control) : .wait(until: until, for: reason)
    }

    private mutating func passOnBroadcast(now: MediaTime) {
        while let decided = broadcast.popOutput() {
            if let output = carryOut(decided, now: now) { outputs.append(output) }
        }
    }

    /// Passes on what the broadcast, the lobby and the room have decided.
    private mutating func settle(now: MediaTime) {
        passOnBroadcast(now: now)
        passOnLobby(now: now)
        room?.settle(now: now)
        while let output = room?.pollOutput() {
            switch output {
            case .send(let id, let message): lobby.send(.room(message), to: ViewerID(value: id.value))
            case .event(let event): outputs.append(.event(.room(event)))
            case .violation(let id, let reason): evict(ViewerID(value: id.value), reason: reason)
            }
        }
        passOnLobby(now: now)
    }

    private mutating func passOnLobby(now: MediaTime) {
        while let output = lobby.outputs.popFirst() {
            switch output {
            case .send(let id, let bytes): outputs.append(.send(id, bytes))
            case .close(let id): outputs.append(.close(id))
            case .event(let event): outputs.append(.event(event))
            case .admitted(let guest, let isResumed): admitted(guest, isResumed: isResumed, now: now)
            case .left(let id):
                room?.left(LogMemberID(id), now: now)
                broadcast.remove(id, now: now)
            case .disconnected(let id): room?.disconnected(LogMemberID(id))
            case .quiet(let id): lobby.quiet(id, heardElsewhere: broadcast.lastHeard(id), now: now)
            case .message(let id, let message): take(message, from: id, now: now)
            }
            passOnBroadcast(now: now)
        }
    }

    private mutating func take(_ message: Lobby.Message, from id: ViewerID, now: MediaTime) {
        switch message {
        case .mediaSource(let port): broadcast.mediaSourceAnnounced(id, port: port, now: now)
        case .mediaKeyReady(let number): broadcast.mediaKeyConfirmed(number, by: id, now: now)
        case .shownSize(let size): broadcast.shownSizeNamed(size, by: id, now: now)
        case .soundWanted(let isWanted): broadcast.soundWanted(isWanted, by: id)
        case .room(let message): room?.received(message, from: LogMemberID(id), now: now)
        }
    }

    private mutating func admitted(_ guest: AdmittedGuest, isResumed: Bool, now: MediaTime) {
        broadcast.admit(guest, isResumed: isResumed, now: now)
        guard room != nil, let device = guest.device, let index = lobby.index(of: guest.id) else { return }
        let member = lobby.members[index]
        let name = lobby.book.name(of: device) ?? PeerText.name(member.peer.name ?? PeerText.unnamed)
        if member.features.contains(.words) {
            room?.joined(LogMemberID(guest.id), device: device, name: name, now: now)
            room?.connected(LogMemberID(guest.id), now: now)
        } else if member.features.contains(.firstWords) {
            outputs.append(.event(.room(.otherVersion(of: name))))
        }
    }

    private mutating func evict(_ id: ViewerID, reason: String) {
        guard !pendingEvictions.contains(where: { $0.id == id }) else { return }
        pendingEvictions.append((id, reason))
    }

    private mutating func turn(on isOn: Bool, now: MediaTime) {
        guard isOn != broadcast.stream.isOn else { return }
        room?.shareChanged(isOn, now: now)
        lobby.broadcastChanged(isOn)
        broadcast.turn(on: isOn, now: now)
    }

    private mutating func shutdown(now: MediaTime) {
        room?.handle(.alert(.leaving), now: now)
        room?.sendLast(now: now)
        settle(now: now)
        lobby.shutdown()
        settle(now: now)
        broadcast.end()
        pendingEvictions.removeAll()
        isEnded = true
    }

    // MARK: Who is here

    /// A known device was admitted from this address, so its connections go before unknown ones.
    public func isKnownAddress(_ address: IPAddress) -> Bool { lobby.isKnownAddress(address) }

    /// The admitted viewers, in the order of admission.
    public var guests: [Guest] { lobby.guests }

    public var statistics: HostStatistics { broadcast.statistics }

    /// One for each viewer, in the order of admission.
    public var viewerStatistics: [ViewerFigures] { lobby.members.compactMap { broadcast.figures(of: $0) } }
}
