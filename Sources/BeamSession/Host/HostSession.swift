import BeamLog
import BeamMedia
import BeamWire

/// A host's protocol without I/O: inputs from viewers and the encoder go in, outputs to send come out.
///
/// It joins three parts that don't know one another: a `Door` lets viewers in, a `Broadcast` sends them the stream, and a
/// room has what is written.
///
/// Call a `handle…` method for each event, then `pollOutput` until it returns `.wait`.
public struct HostSession: Sendable {
    public struct Configuration: Sendable {
        public var door: Door.Configuration
        public var broadcast: Broadcast.Configuration
        /// Captions, notes, alerts and messages; nil: none.
        public var room: LogOptions?

        public init(
            door: Door.Configuration, broadcast: Broadcast.Configuration = Broadcast.Configuration(),
            room: LogOptions? = nil
        ) {
            self.door = door
            self.broadcast = broadcast
            self.room = room
        }
    }

    /// What isn't the door's.
    public enum Input: Sendable {
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
        /// Through how many relays the picture comes, this one among them. Viewers are told when they come.
        case relays(Int)
        /// At a relay: whether there may be exact patches from now on. Viewers that come from now on are offered them.
        case passesPatches(Bool)
        /// What this machine writes to the room.
        case room(LogInput)
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
        /// For a browser's page.
        case browser(ConnectionID, BrowserVerdict)
        case transmit(MediaBurst)
        /// The layer's next frame has to be a keyframe; it is needed even if the screen doesn't change.
        case requestKeyframe(layer: Int)
        /// The demand on the layer's encoder has changed.
        case demand(StreamDemand, layer: Int)
        /// Which encodings of the sound viewers want has changed; none at first.
        case soundDemand(SoundDemand)
        /// A viewer lacks these rectangles of tiles (`ExactTiles`) exactly. It has chosen them: they may lie anywhere.
        case exactWanted([PixelRect])
        /// A viewer wants hashes of the newest picture (`handleHashes`). Some do whenever the screen comes to rest.
        case hashesWanted
        case event(HostEvent)
        /// Nothing to do until this deadline or the next input. `for` says what the deadline is for; nil if there is
        /// none.
        case wait(until: MediaTime, for: HostWaitReason?)
    }

    let configuration: Configuration
    private(set) var door: Door
    private(set) var broadcast: Broadcast
    /// Captions, notes, alerts and messages; nil without `Configuration.room`.
    private(set) var room: LogExchange?
    private var outputs = OutputQueue<Output>()
    private var isEnded = false
    private var isPassingOn = false
    /// Viewers to evict, and why: once everything that was decided before has been passed on.
    private var pendingEvictions: [(id: ViewerID, reason: String)] = []

    /// `random` makes keys, nonces and session IDs: has to be the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        broadcast = Broadcast(configuration: configuration.broadcast, random: random)
        var door = configuration.door
        if configuration.room != nil { door.offers.insert(.words) }
        if configuration.broadcast.hasSound { door.offers.insert(.sound) }
        if configuration.broadcast.hasPatches { door.offers.insert(.patches) }
        if configuration.broadcast.hasHashes { door.offers.insert(.hashes) }
        if configuration.broadcast.hasPointer { door.offers.insert(.pointer) }
        // What comes from elsewhere has one layer, which is everybody's.
        if configuration.broadcast.hasReducedLayer { door.offers.insert(.quality) }
        self.door = Door(
            configuration: door, mediaKey: broadcast.mediaKey, random: broadcast.random)
        room = configuration.room.map {
            LogExchange(
                LogExchange.Configuration(
                    role: .keeper, own: configuration.door.trust.own, name: $0.name, signing: $0.signing,
                    takesNotes: $0.takesNotes),
                random: broadcast.random)
        }
    }

    /// Handles an event of a connection, or a decision about guests.
    public mutating func handle(_ input: Door.Input, now: MediaTime) {
        guard !isEnded else { return }
        // What the broadcast has decided before goes first.
        passOnBroadcast(now: now)
        door.handle(input, now: now)
        settle(now: now)
        guard case .connectionClosed = input else { return }
        broadcast.checkMediaKey(now: now)
        settle(now: now)
    }

    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        passOnBroadcast(now: now)
        door.begin(now: now)
        switch input {
        case .mediaPort(let port): door.mediaPortChanged(port)
        case .broadcast(let isOn): turn(on: isOn, now: now)
        case .sourceVisibility(let visibility): door.sourceVisibilityChanged(visibility)
        case .pictureSize(let size): broadcast.pictureSizeChanged(size, now: now)
        case .fullLayerKept(let isKept): broadcast.fullLayerKeptChanged(isKept, now: now)
        case .relays(let count): door.relays = count
        case .passesPatches(let isSo): passPatches(isSo)
        case .room(let input): room?.handle(input, now: now)
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

    /// Takes exact pixels of what has changed, for all who take them; or a repair, for those who have asked
    /// (`Output.exactWanted`).
    public mutating func handlePatch(_ patch: ExactPatch, now: MediaTime) {
        if !isEnded { broadcast.handlePatch(patch, now: now) }
    }

    /// Takes hashes of all rows of the newest picture, for those who have asked (`Output.hashesWanted`).
    public mutating func handleHashes(_ hashes: PictureHashes, now: MediaTime) {
        if !isEnded { broadcast.handleHashes(hashes, now: now) }
    }

    /// Takes where the pointer is now, whenever that has changed, for all who draw it.
    public mutating func handlePointer(_ pointer: ScreenPointer, now: MediaTime) {
        if !isEnded { broadcast.handlePointer(pointer, now: now) }
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
            if let eviction = pendingEvictions.popLast() {
                door.evict(eviction.id, reason: eviction.reason, now: now)
                settle(now: now)
            } else if door.performDue(now: now) {
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
        case .exactWanted(let tiles): return .exactWanted(tiles)
        case .hashesWanted: return .hashesWanted
        case .event(let event): return .event(event)
        case .wait(let until, let reason): return wait(until: until, for: reason)
        case .mediaKeyMade(let key): door.announce(key)
        case .mediaKeyUsed: door.mediaKeyUsed()
        case .fullSize(let id, let size): door.tellFullSize(size, to: id)
        case .overloaded(let isOverloaded): door.isOverloaded = isOverloaded
        case .evict(let id, let reason): evict(id, reason: reason)
        }
        passOnDoor(now: now)
        return nil
    }

    /// The door's and the room's deadlines may come before the broadcast's.
    private mutating func wait(until: MediaTime, for reason: HostWaitReason?) -> Output {
        let control = min(door.deadline, room?.deadline ?? .distantFuture)
        return control <= until && control < .distantFuture
            ? .wait(until: control, for: .control) : .wait(until: until, for: reason)
    }

    private mutating func passOnBroadcast(now: MediaTime) {
        while let decided = broadcast.popOutput() {
            if let output = carryOut(decided, now: now) { outputs.append(output) }
        }
    }

    /// Passes on what the broadcast, the door and the room have decided.
    private mutating func settle(now: MediaTime) {
        passOnBroadcast(now: now)
        passOnDoor(now: now)
        room?.settle(now: now)
        while let output = room?.pollOutput() {
            switch output {
            case .send(let id, let message): door.send(.room(message), to: ViewerID(value: id.value))
            case .event(let event): outputs.append(.event(.room(event)))
            case .violation(let id, let reason): evict(ViewerID(value: id.value), reason: reason)
            }
        }
        passOnDoor(now: now)
    }

    private mutating func passOnDoor(now: MediaTime) {
        // The loop that is under way takes what is new, too: otherwise each would call the next, as deep as there are guests.
        guard !isPassingOn else { return }
        isPassingOn = true
        defer { isPassingOn = false }
        while let output = door.popOutput() {
            switch output {
            case .send(let id, let bytes): outputs.append(.send(id, bytes))
            case .close(let id): outputs.append(id.isBrowser ? .browser(id, .closed) : .close(id))
            case .browser(let id, let verdict): outputs.append(.browser(id, verdict))
            case .event(let event): outputs.append(.event(event))
            case .admitted(let guest, let isResumed): admitted(guest, isResumed: isResumed, now: now)
            case .left(let id):
                room?.left(LogMemberID(id), now: now)
                broadcast.remove(id, now: now)
            case .disconnected(let id): room?.disconnected(LogMemberID(id))
            case .quiet(let id): door.quiet(id, heardElsewhere: broadcast.lastHeard(id), now: now)
            case .message(let id, let message): take(message, from: id, now: now)
            }
            passOnBroadcast(now: now)
        }
    }

    private mutating func take(_ message: Door.Message, from id: ViewerID, now: MediaTime) {
        switch message {
        case .mediaSource(let port): broadcast.mediaSourceAnnounced(id, port: port, now: now)
        case .mediaKeyReady(let number): broadcast.mediaKeyConfirmed(number, by: id, now: now)
        case .shownSize(let size): broadcast.shownSizeNamed(size, by: id, now: now)
        case .soundWanted(let isWanted): broadcast.soundWanted(isWanted, by: id)
        case .patchTakers(let takers): broadcast.patchTakersNamed(takers, by: id)
        case .qualityWanted(let wish): broadcast.qualityWanted(wish, by: id, now: now)
        case .room(let message): room?.received(message, from: LogMemberID(id), now: now)
        // Nobody but a receiver takes it.
        case .screenOffered: break
        }
    }

    private mutating func admitted(_ guest: AdmittedGuest, isResumed: Bool, now: MediaTime) {
        broadcast.admit(guest, isResumed: isResumed, now: now)
        guard room != nil, let device = guest.device else { return }
        if guest.features.contains(.words) {
            room?.joined(LogMemberID(guest.id), device: device, name: guest.name, now: now)
            room?.connected(LogMemberID(guest.id), now: now)
        } else if guest.features.contains(.firstWords) {
            outputs.append(.event(.room(.otherVersion(of: guest.name))))
        }
    }

    private mutating func evict(_ id: ViewerID, reason: String) {
        guard !pendingEvictions.contains(where: { $0.id == id }) else { return }
        pendingEvictions.append((id, reason))
    }

    private mutating func turn(on isOn: Bool, now: MediaTime) {
        guard isOn != broadcast.isOn else { return }
        room?.shareChanged(isOn, now: now)
        door.broadcastChanged(isOn)
        broadcast.turn(on: isOn, now: now)
    }

    private mutating func passPatches(_ isSo: Bool) {
        broadcast.hasPatches = isSo
        if isSo { door.offers.insert(.patches) } else { door.offers.remove(.patches) }
    }

    private mutating func shutdown(now: MediaTime) {
        room?.handle(.alert(.leaving), now: now)
        room?.sendLast(now: now)
        settle(now: now)
        door.shutdown()
        settle(now: now)
        broadcast.end()
        pendingEvictions.removeAll()
        isEnded = true
    }

    // MARK: Who is here

    /// A known device was admitted from this address, so its connections go before unknown ones.
    public func isKnownAddress(_ address: IPAddress) -> Bool { door.isKnownAddress(address) }

    /// The admitted viewers, in the order of admission.
    public var guests: [Guest] { door.guests }

    public var statistics: HostStatistics {
        var statistics = broadcast.statistics
        statistics.viewers += door.members.count(where: \.peer.isBrowser)
        return statistics
    }

    /// One for each viewer, in the order of admission. Of browsers' streams it says nothing.
    public var viewerStatistics: [ViewerFigures] {
        door.members.compactMap { member in
            var figures = ViewerFigures(member)
            return figures.isBrowser || broadcast.complete(&figures, of: member.id) ? figures : nil
        }
    }
}
