import BeamMedia

/// The host's media plane: whose hellos count, and which frames go to whom.
extension HostSession {
    // MARK: Hellos

    /// A datagram has come to the media socket. Only a hello that is sealed with a viewer's own key counts, and in
    /// version 1 one from a paired viewer's address.
    public mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, from address: NetworkAddress, now: MediaTime) {
        guard !isEnded else { return }
        if MediaLimits.isHello(bytes) {
            plainHello(from: address, now: now)
        } else {
            sealedDatagram(bytes, from: address, now: now)
        }
    }

    /// A version 2 viewer's datagram: whoever can seal it is that viewer, wherever it comes from now.
    private mutating func sealedDatagram(
        _ bytes: UnsafeRawBufferPointer, from address: NetworkAddress, now: MediaTime
    ) {
        do throws(SealedDatagramError) {
            let datagram = try SealedDatagram(bytes, from: .viewer)
            let number = datagram.header.keyNumber
            guard let index = viewers.firstIndex(where: { $0.secure?.opener.keyNumber == number }),
                case .version2(var peer) = viewers[index].peer
            else { throw .unknownKey(number) }
            let result = try peer.opener.open(datagram, into: &opened)
            viewers[index].peer = .version2(peer)
            viewers[index].lastSign = now
            switch result.kind {
            case .hello:
                // An older one that comes late, or is brought by somebody else, moves nothing.
                guard result.isNewest else { break }
                hello(index, from: address, now: now)
                sayState(to: viewers[index])
            case .feedback:
                take(opened.withUnsafeBytes { Feedback($0) }, now: now)
            case .media, .state:
                break
            }
        } catch {
            totals.refusedDatagrams += 1
        }
    }

    private mutating func plainHello(from address: NetworkAddress, now: MediaTime) {
        var best: (index: Int, claim: ViewerStream.Claim)?
        for index in viewers.indices where !viewers[index].isSecure && viewers[index].address == address.ip {
            let claim = viewers[index].stream.claim(address, now: now)
            // Among equals the viewer that came last: the others may have left without a word.
            if claim > .none, claim >= best?.claim ?? .none { best = (index, claim) }
        }
        if let best {
            hello(best.index, from: address, now: now)
        } else {
            for index in viewers.indices where !viewers[index].isSecure && viewers[index].address == address.ip {
                viewers[index].stream.strayHello(from: address.port, now: now)
            }
        }
    }

    private mutating func hello(_ index: Int, from address: NetworkAddress, now: MediaTime) {
        viewers[index].lastSign = now
        guard case .start(let address, let replaced) = viewers[index].stream.hello(from: address, now: now) else {
            return
        }
        if let replaced { pacer.remove(replaced) }
        deadlines.set(.streamSilence(viewers[index].id), at: now + HostLimits.streamSilence)
        emit(.mediaStarted(session: viewers[index].session.description, to: address))
        audienceChanged()
        if isBroadcasting { perform(keyframes.need(now: now)) }
    }

    mutating func mediaSourceAnnounced(_ id: ViewerID, port: UInt16, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let address = NetworkAddress(ip: viewers[index].address, port: port)
        let saidHello = viewers[index].stream.announce(port, now: now)
        let owner = viewers.firstIndex { !$0.isSecure && $0.stream.destination?.address == address }
        if let owner, owner != index {
            // A hello that came before its announcement was taken for another viewer's on the same machine.
            var other = viewers[owner].stream
            viewers[index].stream.exchangeDestination(with: &other)
            viewers[owner].stream = other
            for index in [index, owner] where viewers[index].stream.isWatching {
                deadlines.set(.streamSilence(viewers[index].id), at: now + HostLimits.streamSilence)
            }
        } else if owner == nil, saidHello {
            hello(index, from: address, now: now)
        }
    }

    mutating func checkStream(_ id: ViewerID, now: MediaTime) {
        guard let index = index(of: id), let destination = viewers[index].stream.destination else { return }
        let deadline = destination.lastHello + HostLimits.streamSilence
        guard deadline <= now else { return deadlines.set(.streamSilence(id), at: deadline) }
        stopStream(index, reason: "it hasn't said hello for \(Int(HostLimits.streamSilence.inSeconds)) s")
    }

    mutating func sendFailed(_ address: NetworkAddress) {
        guard let index = viewers.firstIndex(where: { $0.stream.destination?.address == address }) else { return }
        stopStream(index, reason: "nothing can be sent to \(address)")
    }

    private mutating func stopStream(_ index: Int, reason: String) {
        guard let address = viewers[index].stream.stop() else { return }
        pacer.remove(address)
        deadlines.cancel(.streamSilence(viewers[index].id))
        emit(.mediaStopped(session: viewers[index].session.description, reason: reason))
        audienceChanged()
    }

    mutating func audienceChanged() {
        let count = viewers.count { $0.stream.isWatching }
        guard count != audience else { return }
        audience = count
        emit(.audience(count))
        if count == 0 {
            keyframes.stop()
            armKeyframe()
        }
    }

    // MARK: Frames

    /// The encoder has made a frame. It goes to every viewer that can decode it, as fast as the pace allows; its
    /// number on the wire is the session's own.
    public mutating func handleFrame(_ unit: AccessUnit, now: MediaTime) {
        guard !isEnded, isBroadcasting, audience > 0 else { return }
        if unit.isKeyframe {
            keyframes.keyframeCame(now: now, isPeriodic: viewers.contains { !$0.isSecure && $0.stream.isWatching })
            armKeyframe()
            for index in viewers.indices { viewers[index].stream.keyframeSent() }
            if let count = droppedUntilKeyframe, count > 0 { emit(.framesDropped(count)) }
            droppedUntilKeyframe = nil
        } else if let count = droppedUntilKeyframe {
            droppedUntilKeyframe = count + 1
            totals.dropped += 1
            return
        }
        let audience = MediaAudience(
            version1: destinations { !$0.isSecure }, version2: destinations { $0.isSecure })
        guard !audience.isEmpty else { return }
        if pacer.datagramsSealed > HostLimits.datagramsPerKey { replaceMediaKey(now: now) }
        switch pacer.enqueue(unit, to: audience, now: now) {
        case .queued(let superseded): dropped(superseded)
        case .overflow(let count):
            dropped(count)
            restart(now: now)
        }
    }

    func destinations(_ isIncluded: (PairedViewer) -> Bool) -> [NetworkAddress] {
        viewers.compactMap { viewer in
            guard isIncluded(viewer), let destination = viewer.stream.destination, destination.isStreaming else {
                return nil
            }
            return destination.address
        }
    }

    private mutating func dropped(_ count: Int) {
        guard count > 0 else { return }
        totals.dropped += UInt64(count)
        emit(.framesDropped(count))
    }

    /// The frames that come next would lack what they refer to: go on with a keyframe.
    private mutating func restart(now: MediaTime) {
        droppedUntilKeyframe = 0
        perform(keyframes.need(now: now))
    }

    /// What may leave now, if anything; otherwise the pacer's deadline is set.
    mutating func nextBurst(now: MediaTime) -> Output? {
        while true {
            switch pacer.step(now: now) {
            case .send(let burst, let isKeyframe, let begins):
                if begins {
                    totals.frames += 1
                    totals.keyframes += isKeyframe ? 1 : 0
                    tail.frameSent(now: now)
                    armTail()
                }
                totals.datagrams += UInt64(burst.datagramCount * burst.addresses.count)
                totals.bytes += UInt64(burst.range.count * burst.addresses.count)
                return .transmit(burst)
            case .unsendable(_, let isKeyframe):
                dropped(1)
                droppedUntilKeyframe = droppedUntilKeyframe ?? 0
                // An encoder whose keyframes can't be sent isn't asked more often than it would be anyway.
                if !isKeyframe { perform(keyframes.need(now: now)) }
                if let output = outputs.popFirst() { return output }
            case .wait(let time):
                deadlines.set(.pacer, at: time)
                return nil
            case .idle:
                return nil
            }
        }
    }

    // MARK: Keyframes

    mutating func perform(_ action: KeyframeSchedule.Action) {
        if action == .request { outputs.append(.requestKeyframe) }
        armKeyframe()
    }

    mutating func armKeyframe() {
        if let time = keyframes.deadline { deadlines.set(.keyframe, at: time) } else { deadlines.cancel(.keyframe) }
    }
}
