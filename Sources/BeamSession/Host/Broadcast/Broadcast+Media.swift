import BeamMedia
import BeamWire

/// The media socket's input: hellos, which say where a viewer's stream goes, and feedback.
extension Broadcast {
    /// Takes a datagram from the media socket. Only a hello sealed with a viewer's own key counts; in version 1, one
    /// from an admitted viewer's address.
    mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, from address: NetworkAddress, now: MediaTime) {
        if MediaLimits.isHello(bytes) {
            plainHello(from: address, now: now)
        } else {
            sealedDatagram(bytes, from: address, now: now)
        }
    }

    /// Takes a version 2 datagram. Its seal identifies the viewer, whatever address it comes from.
    private mutating func sealedDatagram(
        _ bytes: UnsafeRawBufferPointer, from address: NetworkAddress, now: MediaTime
    ) {
        do throws(SealedDatagramError) {
            let datagram = try SealedDatagram(bytes, from: .viewer)
            let number = datagram.header.keyNumber
            guard let index = senders.index(ofKey: number),
                // Opened in place, so that the replay window isn't copied.
                let result = try senders.all[index].opener?.open(datagram, into: &opened)
            else { throw .unknownKey(number) }
            senders.all[index].lastHeard = now
            switch senders.all[index].rateLimits.datagramCame(now: now) {
            case .accept: break
            // A hello keeps the stream going, so it isn't dropped for reports that are too many.
            case .ignore: guard result.kind == .hello else { return }
            case .evict(let reason): return evict(index, reason: reason)
            }
            switch result.kind {
            case .hello:
                // A hello that is late or replayed doesn't move the stream.
                guard result.isNewest else { break }
                let token = opened.withUnsafeBytes { SealedHello($0) }?.token
                sealedHello(index, token: token, length: bytes.count, from: address, now: now)
            case .feedback:
                // Feedback counts only from the address that the stream goes to.
                guard senders.all[index].destination.address == address else { break }
                let feedback = opened.withUnsafeBytes { Feedback($0, memory: &arrivals) }
                take(feedback, isNewest: result.isNewest, from: index, now: now)
                if let used = feedback.report?.arrivals { arrivals = used }
            case .media, .state, .parity, .sound, .patch, .pointer:
                break
            }
        } catch {
            totals.refusedDatagrams += 1
        }
    }

    // MARK: Version 1

    private mutating func plainHello(from address: NetworkAddress, now: MediaTime) {
        // Nothing can be sent to port 0. Without viewers of version 1 a stranger's datagram must not cost a look at all.
        guard address.port != 0, senders.plainCount > 0 else { return }
        var best: (index: Int, claim: MediaDestination.Claim)?
        let candidates = plainSenders(at: address.ip)
        for index in candidates {
            let claim = senders.all[index].destination.claim(address, now: now)
            // Among equal claims, the viewer that joined last: an earlier one may have left without closing.
            if claim > .none, claim >= best?.claim ?? .none { best = (index, claim) }
        }
        if let best {
            hello(best.index, from: address, now: now)
        } else {
            for index in candidates { senders.all[index].destination.strayHello(from: address.port, now: now) }
        }
    }

    private func plainSenders(at address: IPAddress) -> [Int] {
        senders.all.indices.filter { senders.all[$0].form == .version1 && senders.all[$0].address == address }
    }

    mutating func mediaSourceAnnounced(_ id: ViewerID, port: UInt16, now: MediaTime) {
        guard let index = senders.index(of: id) else { return }
        let address = NetworkAddress(ip: senders.all[index].address, port: port)
        let saidHello = senders.all[index].destination.announce(port, now: now)
        let owner = senders.all.indices.first {
            senders.all[$0].form == .version1 && senders.all[$0].destination.address == address
        }
        if let owner, owner != index {
            // The hello came before this announcement, and was attributed to another viewer on the same machine.
            var other = senders.all[owner]
            senders.all[index].exchangeTarget(with: &other)
            senders.all[owner] = other
            for index in [index, owner] { senders.markReady(index) }
        } else if owner == nil, saidHello {
            hello(index, from: address, now: now)
        }
    }

    // MARK: Version 2: address validation (RFC 9000, 8)

    /// The newest hello of a version 2 viewer: the stream goes to its address, once that is validated.
    private mutating func sealedHello(
        _ index: Int, token: UInt64?, length: Int, from address: NetworkAddress, now: MediaTime
    ) {
        senders.markReady(index)
        if senders.all[index].destination.address != address {
            let verdict = senders.all[index].validation.hello(
                length, token: token, from: address, now: now, random: &random)
            if case .challenge(let token) = verdict { return challenge(index, token, at: address, now: now) }
        }
        hello(index, from: address, now: now)
        sendState(to: index, now: now)
        sendPlace(to: index, now: now)
    }

    /// Sends the token to the address. If the viewer has no stream yet, a keyframe is requested already, so that it is
    /// ready when the address is validated.
    private mutating func challenge(_ index: Int, _ token: UInt64, at address: NetworkAddress, now: MediaTime) {
        let layer = layers[index]
        if stream.isOn, !senders.all[index].destination.isSet,
            stream.layers[layer].joinPosition(within: AddressValidation.lifetime, keyNumber: nil, now: now) == nil
        {
            // Counts against the viewer's keyframe budget, as hellos without validation would otherwise cause keyframes
            // without limit.
            let isShared = isWatched(layer)
            if !isShared || stream.layers[layer].keyframes.isDue
                || layers.payKeyframe(index, now: now)
            {
                requestKeyframe(layer: layer, isShared: isShared, now: now)
            }
        }
        let state = StreamState(newest: nil, challenge: token)
        guard seal(state), senders.all[index].validation.pay(sealedState.count) else { return }
        transmitState(to: address)
    }

    // MARK: Starting and stopping streams

    private mutating func hello(_ index: Int, from address: NetworkAddress, now: MediaTime) {
        senders.all[index].lastHeard = now
        senders.markReady(index)
        guard case .start(let isMove) = senders.all[index].destination.hello(from: address, now: now) else { return }
        senders.all[index].interrupt()
        // It may have been silent for longer than is allowed because nothing was sent to it.
        if !isMove, senders.all[index].isSilent { fellSilent(index, now: now) }
        emit(.mediaStarted(session: senders.all[index].session.description, to: address))
        audienceChanged()
        guard stream.isOn else { return }
        if isMove, senders.all[index].form == .version2 {
            // Counts against the viewer's keyframe budget, as changes of address would otherwise cause keyframes
            // without limit.
            requestKeyframe(for: index, now: now)
        } else {
            join(index, now: now)
        }
    }

    mutating func sendFailed(_ address: NetworkAddress, now: MediaTime) {
        guard let index = senders.all.indices.first(where: { senders.all[$0].destination.address == address }) else {
            return
        }
        stopStream(index, reason: "nothing can be sent to \(address)")
    }

    mutating func stopStream(_ index: Int, reason: String) {
        guard senders.all[index].stop() else { return }
        senders.markReady(index)
        emit(.mediaStopped(session: senders.all[index].session.description, reason: reason))
        audienceChanged()
    }

    mutating func audienceChanged() {
        isSoundDirty = true
        let count = senders.all.indices.count { senders.all[$0].destination.isSet }
        guard count != audience else { return }
        audience = count
        emit(.audience(count))
        audienceSizeChanged()
        stopIdleLayers()
    }

    // MARK: Feedback

    /// The most frames with gaps that are read from one datagram; a viewer that misses more reports the rest in the
    /// next.
    private static let mostMissing = 8

    private mutating func take(_ feedback: Feedback, isNewest: Bool, from index: Int, now: MediaTime) {
        guard stream.isOn, senders.all[index].destination.isSet else { return }
        senders.markReady(index)
        let layer = layers[index]
        // Each layer numbers its own frames. A viewer that was moved before anything of its new layer reached it still reports of the old
        // one: such a report only tells that the viewer is there.
        let isOfLayer = feedback.layer == UInt8(layer)
        if var report = feedback.report, isNewest {
            if !isOfLayer { (report.arrivals, report.recovery) = ([], nil) }
            take(report, from: index, now: now)
        }
        for missing in feedback.missing.prefix(Self.mostMissing) {
            // An earlier item may have moved the viewer to another layer.
            guard isOfLayer, layers[index] == layer else { break }
            perform(senders.all[index].take(missing, of: stream.layers[layer], now: now), of: index, now: now)
        }
        if let sound = feedback.sound { take(sound, isNewest: isNewest, from: index, now: now) }
        take(inexact: feedback.inexact, from: index, now: now)
        take(missing: feedback.missingChanges, from: index, now: now)
        if feedback.wantsHashes { takeHashRequest(from: index, now: now) }
        if let look = feedback.look { take(look: look, from: index, now: now) }
        let end = stream.layers[layers[index]].end
        if senders.all[index].heard(probes: feedback.probes, end: end, now: now) {
            requestKeyframe(for: index, now: now)
        }
        guard let lost = feedback.keyframeAfter, layers[index] == layer else { return }
        if case .evict(let reason) = senders.all[index].rateLimits.keyframeRequested(now: now) {
            return evict(index, reason: reason)
        }
        senders.all[index].delivery?.path.gaveUp()
        // A keyframe sent after the lost frame is in flight already.
        if feedback.layer == UInt8(layer), let keyframe = senders.all[index].delivery?.log.newestKeyframe,
            keyframe.distance(from: lost) > 0
        {
            return
        }
        totals.keyframeRequests += 1
        requestKeyframe(for: index, now: now)
    }

    private mutating func take(_ report: Feedback.Report, from index: Int, now: MediaTime) {
        let wasSilent = senders.all[index].isSilent || !senders.all[index].hasAnswered
        let congestions = senders.all[index].delivery?.path.congestions ?? 0
        let verdict = senders.all[index].take(report, now: now)
        if case .evict(let reason) = verdict { return evict(index, reason: reason) }
        if wasSilent, !senders.all[index].isSilent { pathRecovered(index, now: now) }
        followGroup(index, congestions: congestions, now: now)
        chooseLayer(index, now: now)
        abandonLatePicture(index, now: now)
    }

    /// Reports come again after a silence.
    private mutating func pathRecovered(_ index: Int, now: MediaTime) {
        guard senders.all[index].isOutdated(now: now) else { return }
        senders.all[index].abandon(now: now)
        senders.all[index].delivery?.layerChanged()
        senders.all[index].delivery?.mtu.forgetUnproved()
        if stream.isOn { join(index, now: now) }
    }

    // MARK: State datagrams

    /// Sends a viewer the newest frame's number and its path's rates. On a silent path it is the probe.
    mutating func sendState(to index: Int, now: MediaTime) {
        guard senders.all[index].form == .version2, let address = senders.all[index].destination.address else { return }
        let state = StreamState(
            layer: UInt8(layers[index]), newest: senders.all[index].delivery?.log.newest,
            rates: senders.all[index].delivery?.rates(now: now), wantsReport: senders.all[index].isSilent,
            newestChange: newestChange(for: index))
        if seal(state) { transmitState(to: address) }
    }

    /// Sends a viewer the newest frame's number shortly after that frame, so that it notices if it missed it.
    mutating func sendTailProbe(to index: Int) {
        guard senders.all[index].form == .version2, senders.all[index].cursor.isStreaming,
            let address = senders.all[index].destination.address, let newest = senders.all[index].delivery?.log.newest
        else { return }
        let state = StreamState(
            layer: UInt8(layers[index]), newest: newest, newestChange: newestChange(for: index))
        if seal(state) { transmitState(to: address) }
    }

    private func newestChange(for index: Int) -> UInt32? {
        senders.all[index].takesPatches && layers[index] == SimulcastLayer.full ? sentChanges.newest : nil
    }

    /// Sends a probe of the path's MTU: a state datagram of just that length.
    mutating func sendProbe(_ probe: PathMTU.Probe, to index: Int, now: MediaTime) {
        guard let address = senders.all[index].destination.address else { return }
        let state = StreamState(
            layer: UInt8(layers[index]), newest: senders.all[index].delivery?.log.newest,
            probe: probe.number)
        if seal(state, length: probe.size.length) { transmitState(to: address) }
    }

    /// Seals the state into `sealedState`, in at least `length` bytes; false if the key is used up.
    mutating func seal(_ state: StreamState, length: Int = 0) -> Bool {
        do {
            try stream.sealer.seal(.state, in: &sealedState) {
                let start = $0.count
                state.append(to: &$0)
                SealedItems.pad(&$0, to: start + length - SealedHeader.overhead)
            }
            return true
        } catch {
            return false
        }
    }

    mutating func transmitState(to address: NetworkAddress) {
        let burst = MediaBurst(
            bytes: sealedState, range: 0..<sealedState.count, segmentSize: MediaLimits.datagramLength, address: address)
        count(burst)
        outputs.append(.transmit(burst))
    }

    mutating func count(_ burst: MediaBurst) {
        totals.datagrams += UInt64(burst.datagramCount)
        totals.bytes += UInt64(burst.range.count)
    }
}
