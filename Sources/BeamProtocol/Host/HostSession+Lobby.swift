import BeamMedia

/// Carries out what the lobby has decided.
extension HostSession {
    mutating func settleLobby(now: MediaTime) {
        while let output = lobby.outputs.popFirst() {
            switch output {
            case .send(let id, let bytes): outputs.append(.send(id, bytes))
            case .close(let id): outputs.append(.close(id))
            case .event(let event): outputs.append(.event(event))
            case .admitted(let id, let isResumed): admitted(id, isResumed: isResumed, now: now)
            case .left(let id, let wasSecure): left(id, wasSecure: wasSecure, now: now)
            case .disconnected(let id): room?.disconnected(LogMemberID(id))
            case .room(let id, let message): room?.received(message, from: LogMemberID(id), now: now)
            case .heard(let id):
                if let index = senders.index(of: id) { senders.all[index].lastHeard = now }
            case .mediaSource(let id, let port): mediaSourceAnnounced(id, port: port, now: now)
            case .shownSize(let id, let size): shownSizeNamed(size, by: id, now: now)
            case .soundWanted(let id, let isWanted): soundWanted(isWanted, by: id)
            case .mediaKeyReady(let id, let number):
                guard let index = senders.index(of: id), number == stream.keys.next?.key.number else { break }
                senders.all[index].mediaKey = number
                checkMediaKey(now: now)
            }
        }
        settleRoom(now: now)
    }

    /// Carries out what the room has decided.
    mutating func settleRoom(now: MediaTime) {
        room?.settle(now: now)
        while let output = room?.pollOutput() {
            switch output {
            case .send(let id, let message): lobby.send(.room(message), to: ViewerID(value: id.value))
            case .event(let event): emit(.room(event))
            case .violation(let id, let reason): evict(ViewerID(value: id.value), reason: reason)
            }
        }
        while let output = lobby.outputs.popFirst() {
            if case .send(let id, let bytes) = output { outputs.append(.send(id, bytes)) }
        }
    }

    private mutating func joinRoom(_ member: Member, now: MediaTime) {
        guard let device = member.peer.device else { return }
        let name = lobby.book.name(of: device) ?? PeerText.name(member.peer.name ?? PeerText.unnamed)
        guard member.takesPartInRoom else {
            if member.hasOtherWords, room != nil { emit(.room(.otherVersion(of: name))) }
            return
        }
        room?.joined(LogMemberID(member.id), device: device, name: name, now: now)
        room?.connected(LogMemberID(member.id), now: now)
    }

    private mutating func admitted(_ id: ViewerID, isResumed: Bool, now: MediaTime) {
        guard let place = lobby.index(of: id) else { return }
        let member = lobby.members[place]
        let index: Int
        if let known = senders.index(of: id) {
            index = known
        } else {
            let isPlain = !member.peer.isSecure
            senders.append(
                Sender(
                    id, session: member.session, form: isPlain ? .version1 : .version2,
                    layer: isPlain && configuration.usesFullChroma ? SimulcastLayer.reduced : SimulcastLayer.full,
                    limits: configuration.pacing, now: now))
            index = senders.all.count - 1
        }
        senders.all[index].lastHeard = now
        senders.markReady(index)
        guard member.peer.isSecure else { return }
        let key = SealingKey(number: freeKeyNumber(), random: &lobby.random)
        senders.setOpener(DatagramOpener(key: key), at: index)
        senders.all[index].mediaKey = stream.keys.current.number
        prepareDelivery(to: index, member)
        senders.all[index].sound.isTaken = member.takesSound
        senders.all[index].sound.isWanted = true
        isSoundDirty = true
        lobby.welcome(
            id,
            Lobby.MediaAccess(
                viewerKey: key, mediaKey: stream.keys.current, nextMediaKey: stream.keys.next?.key),
            isResumed: isResumed)
        tellLimit(index, isResumed: isResumed)
        joinRoom(member, now: now)
    }

    private mutating func prepareDelivery(to index: Int, _ member: Member) {
        // A viewer that is back keeps what it said first: its layer depends on it.
        guard senders.all[index].delivery == nil else { return }
        senders.all[index].delivery = Delivery(
            decodesFullChroma: member.decodesFullChroma, canProbe: member.acknowledgesProbes,
            limit: configuration.bitRate)
        senders.all[index].shown.bounds = member.bounds ?? .unstated
        senders.all[index].shown.fit(pictureSize)
        let isLimited = senders.all[index].shown.isLimited
        if isLimited { senders.all[index].shown.apply() }
        let needsReduced = configuration.usesFullChroma && !member.decodesFullChroma || isLimited
        senders.all[index].start(in: needsReduced ? SimulcastLayer.reduced : SimulcastLayer.full)
        guard let hysteresis = layerHistory.first(where: { $0.device == member.peer.device })?.hysteresis else {
            return
        }
        senders.all[index].hysteresis = hysteresis
        if hysteresis.isReduced { senders.all[index].start(in: SimulcastLayer.reduced) }
    }

    /// A key number that no other viewer's key has.
    private mutating func freeKeyNumber() -> UInt16 {
        repeat { lastKeyNumber &+= 1 } while senders.index(ofKey: lastKeyNumber) != nil
        return lastKeyNumber
    }

    private mutating func left(_ id: ViewerID, wasSecure: Bool, now: MediaTime) {
        room?.left(LogMemberID(id), now: now)
        guard let index = senders.index(of: id) else { return }
        isDirty[senders.all[index].layer] = true
        senders.remove(index)
        shared.left(id)
        audienceChanged()
        stopIdleLayers()
        if wasSecure { replaceMediaKey(now: now) }
    }

    // MARK: The media key

    mutating func replaceMediaKey(now: MediaTime) {
        perform(stream.replaceKey(now: now, random: &lobby.random), now: now)
    }

    /// Switches to the next media key if every viewer has it.
    mutating func checkMediaKey(now: MediaTime) {
        guard let next = stream.keys.next?.key.number else { return }
        let isAwaited = senders.all.contains { $0.mediaKey != nil && $0.mediaKey != next }
        if !isAwaited { perform(stream.advanceKey(now: now, random: &lobby.random), now: now) }
    }

    mutating func perform(_ change: HostStream.KeyChange, now: MediaTime) {
        guard case .announce(let key) = change else { return }
        lobby.announce(key)
        settleLobby(now: now)
        checkMediaKey(now: now)
    }

    // MARK: Statistics

    /// A known device was admitted from this address, so its connections go before unknown ones.
    public func isKnownAddress(_ address: IPAddress) -> Bool { lobby.isKnownAddress(address) }

    /// The admitted viewers, in the order of admission.
    public var guests: [Guest] { lobby.guests }

    public var statistics: HostStatistics {
        var statistics = totals
        statistics.viewers = senders.all.count
        statistics.watching = audience
        statistics.sheds = shedding.sheds
        statistics.parity = stream.layers.reduce(0) { $0 + $1.parityDatagrams }
        let bound = senders.all.lazy.compactMap { $0.delivery?.path }.filter { $0.isBound && !$0.isSilent }
        statistics.pathRate = bound.map(\.rate).min()
        return statistics
    }

    /// One for each viewer, in the order of admission.
    public var viewerStatistics: [ViewerFigures] {
        lobby.members.compactMap { member in
            guard let index = senders.index(of: member.id) else { return nil }
            return ViewerFigures(member, senders.all[index])
        }
    }
}
