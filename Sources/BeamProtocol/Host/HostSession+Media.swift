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
                let token = opened.withUnsafeBytes { SealedHello($0) }?.token
                sealedHello(index, token: token, length: bytes.count, from: address, now: now)
            case .feedback:
                // What is said of the stream comes from where the stream goes.
                guard viewers[index].stream.destination?.address == address else { break }
                take(opened.withUnsafeBytes { Feedback($0) }, isNewest: result.isNewest, from: index, now: now)
            case .media, .state, .parity:
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

    mutating func hello(_ index: Int, from address: NetworkAddress, now: MediaTime) {
        viewers[index].lastSign = now
        guard case .start(let address, let replaced) = viewers[index].stream.hello(from: address, now: now) else {
            return
        }
        let lane = viewers[index].lane
        if let replaced { lanes[lane].pacer.remove(replaced) }
        deadlines.set(.streamSilence(viewers[index].id), at: now + HostLimits.streamSilence)
        emit(.mediaStarted(session: viewers[index].session.description, to: address))
        audienceChanged()
        guard isBroadcasting else { return }
        let waiting = lanes[lane].beforeProof.take()
        for unit in waiting { handleFrame(unit, now: now) }
        guard waiting.isEmpty else { return }
        if replaced == nil || !viewers[index].isSecure {
            perform(lanes[lane].keyframes.joined(now: now), lane: lane)
        } else {
            // Whoever moves to and fro has no more of them made than whoever asks for them.
            perform(lanes[lane].keyframes.wanted(now: now), lane: lane)
        }
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
        stopStream(index, reason: "it hasn't said hello for \(Int(clamping: HostLimits.streamSilence.inSeconds)) s")
    }

    mutating func sendFailed(_ address: NetworkAddress) {
        guard let index = viewers.firstIndex(where: { $0.stream.destination?.address == address }) else { return }
        stopStream(index, reason: "nothing can be sent to \(address)")
    }

    private mutating func stopStream(_ index: Int, reason: String) {
        guard let address = viewers[index].stream.stop() else { return }
        lanes[viewers[index].lane].pacer.remove(address)
        deadlines.cancel(.streamSilence(viewers[index].id))
        emit(.mediaStopped(session: viewers[index].session.description, reason: reason))
        audienceChanged()
    }

    mutating func audienceChanged() {
        let count = viewers.count { $0.stream.isWatching }
        guard count != audience else { return }
        audience = count
        emit(.audience(count))
        stopIdleLanes()
    }

    mutating func stopIdleLanes() {
        for lane in lanes.indices where !isWatched(lane) && !isExpected(lane) {
            lanes[lane].beforeProof.removeAll()
            lanes[lane].keyframes.stop()
            armKeyframe(lane: lane)
        }
    }

    // MARK: Frames

    /// The encoder has made a frame. It goes to every viewer of its lane that can decode it, as fast as the pace allows; its
    /// number on the wire is the session's own.
    public mutating func handleFrame(_ unit: AccessUnit, now: MediaTime) {
        let lane = unit.lane
        guard !isEnded, isBroadcasting, lanes.indices.contains(lane) else { return }
        guard isWatched(lane) else { return handleEarlyFrame(unit, now: now) }
        if unit.isKeyframe {
            keyframeCame(lane: lane, now: now)
        } else if let count = lanes[lane].droppedUntilKeyframe {
            lanes[lane].droppedUntilKeyframe = count + 1
            totals.dropped += 1
            return
        }
        let audience = MediaAudience(
            version1: destinations(lane) { !$0.isSecure }, version2: destinations(lane) { $0.isSecure },
            parity: destinations(lane) { $0.parityShare > 0 },
            parityShare: viewers.reduce(0) { $1.lane == lane ? max($0, $1.parityShare) : $0 })
        guard !audience.isEmpty else { return }
        if sealer.datagramsSealed > HostLimits.datagramsPerKey { replaceMediaKey(now: now) }
        switch lanes[lane].pacer.enqueue(unit, to: audience, now: now) {
        case .queued(let superseded): dropped(superseded)
        case .overflow(let count):
            dropped(count)
            restart(lane: lane, now: now)
        }
    }

    private mutating func keyframeCame(lane: Int, now: MediaTime) {
        let isPeriodic = viewers.contains { $0.lane == lane && !$0.isSecure && $0.stream.isWatching }
        lanes[lane].keyframes.keyframeCame(now: now, isPeriodic: isPeriodic)
        armKeyframe(lane: lane)
        for index in viewers.indices where viewers[index].lane == lane && !viewers[index].isSilent {
            viewers[index].stream.keyframeSent()
        }
        if let count = lanes[lane].droppedUntilKeyframe, count > 0 { emit(.framesDropped(count)) }
        lanes[lane].droppedUntilKeyframe = nil
    }

    func isWatched(_ lane: Int) -> Bool { viewers.contains { $0.lane == lane && $0.stream.isWatching } }

    func destinations(_ lane: Int, _ isIncluded: (PairedViewer) -> Bool) -> [NetworkAddress] {
        viewers.compactMap { viewer in
            guard viewer.lane == lane, isIncluded(viewer), let destination = viewer.stream.destination,
                destination.isStreaming
            else { return nil }
            return destination.address
        }
    }

    mutating func dropped(_ count: Int) {
        guard count > 0 else { return }
        totals.dropped += UInt64(count)
        emit(.framesDropped(count))
    }

    /// The frames that come next would lack what they refer to: go on with a keyframe.
    private mutating func restart(lane: Int, now: MediaTime) {
        lanes[lane].droppedUntilKeyframe = 0
        needKeyframe(lane: lane, now: now)
    }

    /// What may leave now, if anything; otherwise deadlines are set. What is to be mended comes first.
    mutating func nextBurst(now: MediaTime) -> Output? {
        if let output = nextRepair(now: now) { return output }
        for lane in lanes.indices {
            if let output = nextBurst(lane: lane, now: now) { return output }
        }
        return nil
    }

    private mutating func nextBurst(lane: Int, now: MediaTime) -> Output? {
        lanes[lane].isBlocked = false
        while true {
            switch lanes[lane].pacer.step(now: now, room: room(lane)) {
            case .send(let burst, let isKeyframe, let begins):
                if begins {
                    totals.frames += 1
                    totals.keyframes += isKeyframe ? 1 : 0
                    lanes[lane].tail.frameSent(now: now)
                    armTail(lane: lane)
                }
                return transmit(burst, now: now)
            case .unsendable(_, let isKeyframe):
                dropped(1)
                lanes[lane].droppedUntilKeyframe = lanes[lane].droppedUntilKeyframe ?? 0
                // An encoder whose keyframes can't be sent isn't asked more often than it would be anyway.
                if !isKeyframe { needKeyframe(lane: lane, now: now) }
                if let output = outputs.popFirst() { return output }
            case .wait(let time):
                deadlines.set(.pacer(lane: lane), at: time)
                return nil
            case .blocked:
                lanes[lane].isBlocked = true
                return nil
            case .idle:
                return nil
            }
        }
    }

    /// Part of a frame, for the first time.
    private mutating func transmit(_ burst: MediaBurst, now: MediaTime) -> Output {
        count(burst)
        for index in viewers.indices {
            guard viewers[index].delivery != nil, let address = viewers[index].stream.destination?.address,
                burst.addresses.contains(address)
            else { continue }
            viewers[index].delivery?.sent(bytes: burst.range.count, now: now)
            armPath(index)
        }
        return .transmit(burst)
    }

    mutating func count(_ burst: MediaBurst) {
        totals.datagrams += UInt64(burst.datagramCount * burst.addresses.count)
        totals.bytes += UInt64(burst.range.count * burst.addresses.count)
    }

    // MARK: Keyframes

    /// Somebody can't go on without one.
    mutating func needKeyframe(lane: Int, now: MediaTime) {
        perform(lanes[lane].keyframes.need(now: now), lane: lane)
    }

    mutating func perform(_ action: KeyframeSchedule.Action, lane: Int) {
        if action == .request { outputs.append(.requestKeyframe(lane: lane)) }
        armKeyframe(lane: lane)
    }

    mutating func armKeyframe(lane: Int) {
        if let time = lanes[lane].keyframes.deadline {
            deadlines.set(.keyframe(lane: lane), at: time)
        } else {
            deadlines.cancel(.keyframe(lane: lane))
        }
    }
}
