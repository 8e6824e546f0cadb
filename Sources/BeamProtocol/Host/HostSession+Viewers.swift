import BeamMedia

/// The viewers that were let in: how they come, how they are known to be there, how they leave.
extension HostSession {
    /// One more, if there is room; otherwise the connection is refused, and the answer is nil.
    mutating func addViewer(_ peer: PairedViewer.Peer, on id: ConnectionID, now: MediaTime) -> Int? {
        guard let address = connections[id]?.address else { return nil }
        if let reason = makeRoom(for: peer, from: address, now: now) {
            refuseViewer(id, .busy, reason: reason, now: now)
            return nil
        }
        lastViewer += 1
        var viewer = PairedViewer(
            id: ViewerID(value: lastViewer), session: SessionID(random: &random), address: address, peer: peer,
            control: nil, lastSign: now)
        if case .version1 = peer, configuration.usesFullChroma { viewer.lane = Lane.reduced }
        viewers.append(viewer)
        deadlines.set(.viewerSilence(viewer.id), at: viewer.silenceDeadline)
        return viewers.count - 1
    }

    /// Why there is no room for one more such viewer; nil if there is. One of the same device that has lost its connection goes first.
    private mutating func makeRoom(
        for peer: PairedViewer.Peer, from address: IPAddress, now: MediaTime
    ) -> String? {
        let own = viewers.filter { isSameDevice($0, peer, address) }
        if own.count >= HostLimits.viewersPerDevice {
            guard let lost = own.filter({ $0.control == nil }).min(by: { $0.lastSign < $1.lastSign }) else {
                return "Too many viewers of this device"
            }
            left(lost.id, reason: "another one of the same device has come", now: now)
        }
        if !isKnown(peer) {
            let unknown = viewers.filter { !isKnown($0.peer) }
            let prefix = AddressPrefix(address)
            guard unknown.count < HostLimits.unknownViewers,
                unknown.count(where: { AddressPrefix($0.address) == prefix }) < HostLimits.unknownViewersPerPrefix
            else { return "Too many viewers" }
        }
        return viewers.count < HostLimits.viewers ? nil : "Too many viewers"
    }

    private func isSameDevice(_ viewer: PairedViewer, _ peer: PairedViewer.Peer, _ address: IPAddress) -> Bool {
        switch peer {
        case .version1: !viewer.isSecure && viewer.address == address
        case .version2(let peer): viewer.secure?.device == peer.device
        }
    }

    /// Its device was paired, or was let in by the person.
    func isKnown(_ peer: PairedViewer.Peer) -> Bool {
        if case .version2(let peer) = peer { book.trusts(peer.device) } else { false }
    }

    /// That connection is the viewer's from now on.
    mutating func attach(_ index: Int, to id: ConnectionID, now: MediaTime) {
        viewers[index].control = id
        connections[id]?.viewer = viewers[index].id
        connections[id]?.isAsking = false
        ledger.remove(id)
        if isKnown(viewers[index].peer) { favour(viewers[index].address) }
        deadlines.cancel(.stranger(id))
    }

    private mutating func favour(_ address: IPAddress) {
        favoured.removeAll { $0 == address }
        if favoured.count >= HostLimits.favouredAddresses { favoured.removeFirst() }
        favoured.append(address)
    }

    /// A viewer's earlier connection, if it still has one, gives way to a new one.
    mutating func closeControl(of index: Int, now: MediaTime) {
        guard let previous = viewers[index].control else { return }
        outputs.append(.close(previous))
        _ = forget(previous, now: now)
        viewers[index].control = nil
    }

    func visitor(_ index: Int) -> Visitor {
        Visitor(address: viewers[index].address, name: viewers[index].secure?.name)
    }

    /// A version 2 device at `address`: by the name that it is remembered by, if it is.
    func visitor(_ address: IPAddress, _ device: DeviceKey, callsItself name: String) -> Visitor {
        let name = PeerText.name(name)
        guard let known = book.name(of: device) else {
            return Visitor(address: address, name: name, isNamesake: book.isTaken(name, butBy: device))
        }
        return Visitor(
            address: address, name: known, newName: DeviceNames.isVariant(known, of: name, device) ? nil : name)
    }

    // MARK: Life signs

    mutating func signOfLife(_ viewer: ViewerID, now: MediaTime) {
        guard let index = index(of: viewer) else { return }
        viewers[index].lastSign = now
    }

    mutating func checkViewer(_ id: ViewerID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let deadline = viewers[index].silenceDeadline
        guard deadline <= now else { return deadlines.set(.viewerSilence(id), at: deadline) }
        let seconds = Int(clamping: HostLimits.viewerSilence.inSeconds)
        left(
            id,
            reason: viewers[index].control == nil
                ? "its connection has ended" : "nothing came from it for \(seconds) s", now: now)
    }

    /// A viewer is gone, for whatever reason.
    mutating func left(_ id: ViewerID, reason: String, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let visitor = visitor(index)
        closeControl(of: index, now: now)
        var viewer = viewers.remove(at: index)
        if let address = viewer.stream.stop() { lanes[viewer.lane].pacer.remove(address) }
        deadlines.cancel(.streamSilence(id))
        deadlines.cancel(.path(id))
        deadlines.cancel(.proof(id))
        deadlines.cancel(.repair(id))
        deadlines.cancel(.viewerSilence(id))
        emit(.viewerLeft(session: viewer.session.description, from: visitor, reason: reason))
        audienceChanged()
        if viewer.isSecure { replaceMediaKey(now: now) }
    }

    // MARK: What is announced

    mutating func mediaPortChanged(_ port: UInt16) {
        guard port != 0, port != mediaPort else { return }
        mediaPort = port
        announce(.mediaPort(port), .mediaPort(port))
    }

    mutating func broadcastChanged(_ isOn: Bool, now: MediaTime) {
        guard isOn != isBroadcasting else { return }
        isBroadcasting = isOn
        announce(.broadcast(isOn), .broadcast(isOn))
        for index in viewers.indices { viewers[index].stream.interrupt() }
        if isOn {
            for lane in lanes.indices where isWatched(lane) { needKeyframe(lane: lane, now: now) }
        } else {
            for lane in lanes.indices {
                _ = lanes[lane].pacer.dropWaiting()
                lanes[lane].beforeProof.removeAll()
                lanes[lane].keyframes.stop()
                armKeyframe(lane: lane)
            }
        }
    }
}
