import BeamLog
import BeamMedia
import BeamWire

/// The admitted viewers: how they join and leave.
extension Door {
    /// Adds a viewer and returns its index. If there is no room, refuses the connection and returns nil.
    mutating func addMember(_ peer: Member.Peer, on id: ConnectionID, now: MediaTime) -> Int? {
        guard let address = connections[id]?.address else { return nil }
        if let lack = makeRoom(for: peer, from: address, now: now) {
            refuseViewer(id, .busy, reason: lack.reason, browser: lack.browser, now: now)
            return nil
        }
        lastMember += 1
        members.append(
            Member(
                id: ViewerID(value: lastMember), session: SessionID(random: &random), address: address, peer: peer,
                admitted: now, lastHeard: now))
        return members.count - 1
    }

    /// Why there is no room for a viewer.
    private struct RoomLack {
        var reason: String
        /// What a browser is told; nil: what others are.
        var browser: BrowserRefusal?

        init(_ reason: String, browser: BrowserRefusal? = nil) { (self.reason, self.browser) = (reason, browser) }
    }

    /// Nil if there is room for this viewer. A viewer of the same device without a control connection is removed first.
    private mutating func makeRoom(
        for peer: Member.Peer, from address: IPAddress, now: MediaTime
    ) -> RoomLack? {
        guard !isOverloaded else {
            let count = members.count == 1 ? "1 viewer" : "\(members.count) viewers"
            return RoomLack("This machine can't serve more than the \(count) that it has at the moment")
        }
        let own = members.filter { isSameDevice($0, peer, address) }
        if own.count >= (peer.isBrowser ? limits.browsersPerAddress : HostLimits.viewersPerDevice) {
            guard let lost = own.filter({ $0.control == nil }).min(by: { $0.disconnectedSince < $1.disconnectedSince })
            else {
                return peer.isBrowser
                    ? RoomLack("Too many browsers of this address", browser: .manyHere)
                    : RoomLack("Too many viewers of this device")
            }
            left(lost.id, reason: "another viewer of the same device took its place", now: now)
        }
        if !isKnown(peer), !peer.isBrowser {
            let unknown = members.filter { !isKnown($0.peer) && !$0.peer.isBrowser }
            let prefix = AddressPrefix(address)
            guard unknown.count < limits.unknownViewers,
                unknown.count(where: { AddressPrefix($0.address) == prefix }) < limits.unknownViewersPerPrefix
            else { return RoomLack("Too many viewers") }
        }
        // The rest of the places is reserved for paired devices.
        if peer.isBrowser, members.count(where: { !isKnown($0.peer) }) >= limits.unknownViewers {
            return RoomLack("Too many viewers")
        }
        guard members.count >= limits.viewers else { return nil }
        return RoomLack("This host takes at most \(limits.viewers) \(limits.viewers == 1 ? "viewer" : "viewers")")
    }

    private func isSameDevice(_ viewer: Member, _ peer: Member.Peer, _ address: IPAddress) -> Bool {
        switch peer {
        case .version1: viewer.peer.isVersion1 && viewer.address == address
        case .version2(let device, _, _): viewer.peer.device == device
        case .browser: viewer.peer.isBrowser && viewer.address == address
        }
    }

    /// The peer's device was paired.
    func isKnown(_ peer: Member.Peer) -> Bool {
        peer.device.map { book.trusts($0) } ?? false
    }

    /// Makes `id` the viewer's control connection.
    mutating func attach(_ index: Int, to id: ConnectionID, now: MediaTime) {
        members[index].control = id
        members[index].controlLost = nil
        heard(members[index].id, now: now)
        connections[id]?.viewer = members[index].id
        connections[id]?.isAsking = false
        ledger.remove(id)
        if isKnown(members[index].peer) { rememberAddress(members[index].address) }
        deadlines.cancel(.unadmitted(id))
    }

    private mutating func rememberAddress(_ address: IPAddress) {
        knownAddresses.removeAll { $0 == address }
        if knownAddresses.count >= HostLimits.knownAddresses { knownAddresses.removeFirst() }
        knownAddresses.append(address)
    }

    /// Closes the viewer's previous control connection, if it still has one.
    mutating func closeControl(of index: Int, now: MediaTime) {
        guard let previous = members[index].control else { return }
        outputs.append(.close(previous))
        _ = forget(previous, now: now)
        members[index].control = nil
    }

    /// What others are told of a viewer.
    func guest(_ index: Int) -> AdmittedGuest {
        let member = members[index]
        let name = member.peer.device.flatMap { book.name(of: $0) }
        return AdmittedGuest(
            id: member.id, session: member.session, address: member.address, device: member.peer.device,
            key: member.key, name: name ?? PeerText.name(member.peer.name ?? PeerText.unnamed),
            isPaired: isKnown(member.peer),
            features: member.features, bounds: member.bounds)
    }

    func visitor(_ index: Int) -> Visitor {
        Visitor(address: members[index].address, name: members[index].peer.name)
    }

    /// A version 2 device at `address`, under the name that it was paired by, if it was.
    func visitor(_ address: IPAddress, _ device: DeviceKey, callsItself name: String) -> Visitor {
        let name = PeerText.name(name)
        guard let known = book.name(of: device) else {
            return Visitor(address: address, name: name, isNamesake: book.isTaken(name, butBy: device))
        }
        return Visitor(
            address: address, name: known, newName: DeviceNames.isVariant(known, of: name, device) ? nil : name)
    }

    // MARK: Leaving

    /// A line or message came from the viewer.
    mutating func heard(_ id: ViewerID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        members[index].lastHeard = now
        // The deadline of a viewer heard earlier comes first.
        if !deadlines.isSet(.silence) { armSilence() }
    }

    /// Asks about viewers that have been silent on their control connections for `HostLimits.viewerTimeout`.
    mutating func findQuiet(now: MediaTime) {
        let isQuiet = { (member: Member) in member.lastHeard + HostLimits.viewerTimeout <= now }
        for member in watched where isQuiet(member) { outputs.append(.quiet(member.id)) }
        if let next = watched.filter({ !isQuiet($0) }).map(\.lastHeard).min() {
            deadlines.set(.silence, at: next + HostLimits.viewerTimeout)
        }
    }

    /// The answer to `.quiet`: when something came from the viewer on another way last; nil: never.
    mutating func quiet(_ id: ViewerID, heardElsewhere time: MediaTime?, now: MediaTime) {
        guard let index = index(of: id) else { return }
        guard let time, time + HostLimits.viewerTimeout > now else { return lost(index, now: now) }
        members[index].lastHeard = max(members[index].lastHeard, time)
        armSilence()
    }

    private mutating func armSilence() {
        deadlines.arm(.silence, at: watched.map(\.lastHeard).min().map { $0 + HostLimits.viewerTimeout })
    }

    /// Those whose silence the door notices. Whoever serves a browser's page notices that it is gone.
    private var watched: some Sequence<Member> { members.lazy.filter { !$0.peer.isBrowser } }

    /// Nothing was received from the viewer for `HostLimits.viewerTimeout`, on any way.
    private mutating func lost(_ index: Int, now: MediaTime) {
        let seconds = Int(clamping: HostLimits.viewerTimeout.inSeconds)
        left(
            members[index].id,
            reason: members[index].control == nil
                ? "its connection has ended" : "nothing came from it for \(seconds) s", now: now)
    }

    /// Removes a viewer.
    mutating func left(_ id: ViewerID, reason: String, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let visitor = visitor(index)
        closeControl(of: index, now: now)
        let member = members.remove(at: index)
        armSilence()
        emit(.viewerLeft(session: member.session.description, from: visitor, reason: reason))
        if let device = member.peer.device, trust.expected[device] != nil,
            !members.contains(where: { $0.peer.device == device })
        {
            emit(.expectedGuest(device, reason == Self.goodbye ? .gone : .lost))
        }
        outputs.append(.left(id))
    }

    /// Why a viewer left that has said goodbye.
    static let goodbye = "its program has ended"

    // MARK: Announcements

    mutating func mediaPortChanged(_ port: UInt16) {
        guard port != 0, port != mediaPort else { return }
        mediaPort = port
        announce(.mediaPort(port), .mediaPort(port))
    }

    mutating func broadcastChanged(_ isOn: Bool) {
        isBroadcasting = isOn
        announce(.broadcast(isOn), .broadcast(isOn))
    }

    /// Version 1 has no message for it.
    mutating func sourceVisibilityChanged(_ visibility: SourceVisibility) {
        guard visibility != sourceVisibility else { return }
        sourceVisibility = visibility
        for member in members where member.peer.device != nil {
            if let control = member.control { send(SecureMessage.sourceVisibility(visibility), to: control) }
        }
    }

    /// Sends to every viewer with a control connection, in its own version.
    mutating func announce(_ line: ControlMessage, _ message: SecureMessage) {
        for member in members {
            guard let control = member.control else { continue }
            switch member.peer {
            case .version1: send(line, to: control)
            case .version2: send(message, to: control)
            // Browsers are told by what serves their page.
            case .browser: break
            }
        }
    }

    /// Sends the next media key to every version 2 viewer.
    mutating func announce(_ key: SealingKey) {
        mediaKeys.next = key
        for member in members where member.peer.device != nil {
            if let control = member.control { send(.mediaKey(key), to: control) }
        }
    }

    /// The key that was announced last is the present one now.
    mutating func mediaKeyUsed() {
        guard let next = mediaKeys.next else { return }
        mediaKeys = (next, nil)
    }

    /// The full picture has this size, and the viewer gets less of it; nil: it gets all of it.
    mutating func tellFullSize(_ size: PixelSize?, to id: ViewerID) {
        // A program that doesn't say what it takes doesn't know the message either.
        guard let index = index(of: id), members[index].bounds != nil else { return }
        let (width, height) = (UInt16(clamping: size?.width ?? 0), UInt16(clamping: size?.height ?? 0))
        send(.fullSize(width: width, height: height), to: id)
    }
}
