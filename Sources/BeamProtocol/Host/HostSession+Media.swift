import BeamMedia

/// What comes to the media socket: hellos, which say where a viewer's stream goes, and feedback.
extension HostSession {
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
            guard let index = senders.index(ofKey: number),
                // Opened where it stands: its replay window isn't copied.
                let result = try senders[index].opener?.open(datagram, into: &opened)
            else { throw .unknownKey(number) }
            senders[index].lastHeard = now
            switch result.kind {
            case .hello:
                // An older one that comes late, or is brought by somebody else, moves nothing.
                guard result.isNewest else { break }
                let token = opened.withUnsafeBytes { SealedHello($0) }?.token
                sealedHello(index, token: token, length: bytes.count, from: address, now: now)
            case .feedback:
                // What is said of the stream comes from where the stream goes.
                guard senders[index].destination.address == address else { break }
                take(opened.withUnsafeBytes { Feedback($0) }, isNewest: result.isNewest, from: index, now: now)
            case .media, .state, .parity:
                break
            }
        } catch {
            totals.refusedDatagrams += 1
        }
    }

    // MARK: Version 1

    private mutating func plainHello(from address: NetworkAddress, now: MediaTime) {
        var best: (index: Int, claim: MediaDestination.Claim)?
        let candidates = plainSenders(at: address.ip)
        for index in candidates {
            let claim = senders[index].destination.claim(address, now: now)
            // Among equals the viewer that came last: the others may have left without a word.
            if claim > .none, claim >= best?.claim ?? .none { best = (index, claim) }
        }
        if let best {
            hello(best.index, from: address, now: now)
        } else {
            for index in candidates { senders[index].destination.strayHello(from: address.port, now: now) }
        }
    }

    private func plainSenders(at address: IPAddress) -> [Int] {
        lobby.members.filter { !$0.peer.isSecure && $0.address == address }.compactMap { senders.index(of: $0.id) }
    }

    mutating func mediaSourceAnnounced(_ id: ViewerID, port: UInt16, now: MediaTime) {
        guard let index = senders.index(of: id), let place = lobby.index(of: id) else { return }
        let address = NetworkAddress(ip: lobby.members[place].address, port: port)
        let saidHello = senders[index].destination.announce(port, now: now)
        let owner = senders.indices.first {
            senders[$0].form == .version1 && senders[$0].destination.address == address
        }
        if let owner, owner != index {
            // A hello that came before its announcement was taken for another viewer's on the same machine.
            var other = senders[owner]
            senders[index].exchangeTarget(with: &other)
            senders[owner] = other
            for index in [index, owner] { senders.markReady(index) }
        } else if owner == nil, saidHello {
            hello(index, from: address, now: now)
        }
    }

    // MARK: Version 2: an address is proved before the stream goes there (RFC 9000, 8)

    /// The newest hello of a version 2 viewer: the stream goes where it comes from, once the viewer has proved to be there.
    private mutating func sealedHello(
        _ index: Int, token: UInt64?, length: Int, from address: NetworkAddress, now: MediaTime
    ) {
        senders.markReady(index)
        if senders[index].destination.address != address {
            let verdict = senders[index].validation.hello(
                length, token: token, from: address, now: now, random: &lobby.random)
            if case .challenge(let token) = verdict { return challenge(index, token, at: address, now: now) }
        }
        hello(index, from: address, now: now)
        sayState(to: index, now: now)
    }

    /// Sends the token there. A viewer that gets no stream yet is about to: its keyframe is made meanwhile.
    private mutating func challenge(_ index: Int, _ token: UInt64, at address: NetworkAddress, now: MediaTime) {
        let layer = senders[index].layer
        if stream.isOn, !senders[index].destination.isSet,
            stream.layers[layer].joinPosition(within: AddressValidation.lifetime, keyNumber: nil, now: now) == nil
        {
            // Whoever never proves to be there has no more keyframes made than whoever asks for them.
            let isShared = isWatched(layer)
            if !isShared || senders[index].rateLimits.payKeyframe(now: now) {
                requestKeyframe(layer: layer, isShared: isShared, now: now)
            }
        }
        let state = StreamState(newest: nil, challenge: token)
        guard let bytes = try? stream.sealer.seal(.state, state.plaintext), senders[index].validation.pay(bytes.count)
        else {
            return
        }
        transmit(bytes, to: address)
    }

    // MARK: Where the stream goes

    private mutating func hello(_ index: Int, from address: NetworkAddress, now: MediaTime) {
        senders[index].lastHeard = now
        senders.markReady(index)
        guard case .start(let isMove) = senders[index].destination.hello(from: address, now: now) else { return }
        senders[index].interrupt()
        emit(.mediaStarted(session: senders[index].session.description, to: address))
        audienceChanged()
        guard stream.isOn else { return }
        if isMove, senders[index].form == .version2 {
            // Whoever moves to and fro has no more keyframes made than whoever asks for them.
            requestKeyframe(for: index, now: now)
        } else {
            join(index, now: now)
        }
    }

    mutating func sendFailed(_ address: NetworkAddress, now: MediaTime) {
        guard let index = senders.indices.first(where: { senders[$0].destination.address == address }) else { return }
        stopStream(index, reason: "nothing can be sent to \(address)")
    }

    mutating func stopStream(_ index: Int, reason: String) {
        guard senders[index].stop() else { return }
        senders.markReady(index)
        emit(.mediaStopped(session: senders[index].session.description, reason: reason))
        audienceChanged()
    }

    mutating func audienceChanged() {
        let count = senders.indices.count { senders[$0].destination.isSet }
        guard count != audience else { return }
        audience = count
        emit(.audience(count))
        stopIdleLayers()
    }

    // MARK: Feedback

    /// Frames with gaps in one datagram; a viewer that lacks more says so in the next.
    private static let mostMissing = 8

    private mutating func take(_ feedback: Feedback, isNewest: Bool, from index: Int, now: MediaTime) {
        guard stream.isOn, senders[index].destination.isSet else { return }
        switch senders[index].rateLimits.feedbackCame(now: now) {
        case .accept: break
        case .ignore: return
        case .evict(let reason): return evict(index, reason: reason)
        }
        senders.markReady(index)
        let layer = senders[index].layer
        // What is said of a layer that the viewer was taken out of has no meaning any more.
        if feedback.layer == UInt8(layer) {
            if let report = feedback.report, isNewest { take(report, from: index, now: now) }
            for missing in feedback.missing.prefix(Self.mostMissing) {
                // What was said before it may have had the viewer moved.
                guard senders[index].layer == layer else { return }
                perform(senders[index].take(missing, of: stream.layers[layer], now: now), of: index, now: now)
            }
        }
        guard let lost = feedback.keyframeAfter, senders[index].layer == layer else { return }
        if case .evict(let reason) = senders[index].rateLimits.keyframeRequested(now: now) {
            return evict(index, reason: reason)
        }
        senders[index].delivery?.path.gaveUp()
        // One that has left since is on its way already.
        if feedback.layer == UInt8(layer), let keyframe = senders[index].delivery?.log.newestKeyframe,
            keyframe.distance(from: lost) > 0
        {
            return
        }
        totals.keyframeRequests += 1
        requestKeyframe(for: index, now: now)
    }

    private mutating func take(_ report: Feedback.Report, from index: Int, now: MediaTime) {
        let wasSilent = senders[index].isSilent
        let verdict = senders[index].take(report, now: now)
        if case .evict(let reason) = verdict { return evict(index, reason: reason) }
        if wasSilent, !senders[index].isSilent { pathRecovered(index, now: now) }
        chooseLayer(index, now: now)
        abandonLatePicture(index, now: now)
    }

    /// The viewer's path carries something again.
    private mutating func pathRecovered(_ index: Int, now: MediaTime) {
        guard senders[index].isOutdated(now: now) else { return }
        senders[index].abandon()
        senders[index].delivery?.layerChanged()
        if stream.isOn { join(index, now: now) }
    }

    // MARK: What is said beside the frames

    /// Tells a viewer that the host is there, how far its stream has come, and what its path carries.
    mutating func sayState(to index: Int, now: MediaTime) {
        guard senders[index].form == .version2, let address = senders[index].destination.address else { return }
        let state = StreamState(
            layer: UInt8(senders[index].layer), newest: senders[index].delivery?.log.newest,
            rates: senders[index].delivery?.rates(now: now), wantsReport: senders[index].isSilent)
        guard let bytes = try? stream.sealer.seal(.state, state.plaintext) else { return }
        transmit(bytes, to: address)
    }

    /// A moment after the last frame: whoever has missed it learns so.
    mutating func sayTail(to index: Int) {
        guard senders[index].form == .version2, senders[index].cursor.isStreaming,
            let address = senders[index].destination.address, let newest = senders[index].delivery?.log.newest
        else { return }
        let state = StreamState(layer: UInt8(senders[index].layer), newest: newest)
        guard let bytes = try? stream.sealer.seal(.state, state.plaintext) else { return }
        transmit(bytes, to: address)
    }

    private mutating func transmit(_ bytes: [UInt8], to address: NetworkAddress) {
        let burst = MediaBurst(
            bytes: bytes, range: 0..<bytes.count, segmentSize: MediaLimits.datagramLength, address: address)
        count(burst)
        outputs.append(.transmit(burst))
    }

    mutating func count(_ burst: MediaBurst) {
        totals.datagrams += UInt64(burst.datagramCount)
        totals.bytes += UInt64(burst.range.count)
    }
}
