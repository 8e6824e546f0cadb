import BeamMedia

/// Passes frames from the layers to the senders, requests keyframes, and assigns layers to viewers.
extension Broadcast {
    // MARK: Frames

    /// Takes an encoded frame. It is sent to every viewer of its layer, as fast as each path allows, with a sequence
    /// number of the session.
    mutating func handleFrame(_ frame: EncodedFrame, now: MediaTime) {
        let layer = frame.layer
        guard stream.isOn, stream.layers.indices.contains(layer) else { return }
        guard isWatched(layer) || isExpected(layer) else { return }
        if frame.isKeyframe {
            keyframeCame(layer, now: now)
        } else if allAwaitKeyframe(layer) {
            return countDropped(in: layer)
        }
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        stream.layers[layer].push(frame, now: now)
        senders.beginFrame()
        let reachable = reachableCount(layer)
        let rate = stream.layers[layer].use.current(now: now)
        var hasFallenBehind = false
        for index in senders.all.indices where senders.all[index].layer == layer {
            let isImpatient = canMove(index, reachable: reachable) && !carriesMost(of: rate, index)
            let patience = isImpatient ? Self.queueTimeIfMovable : configuration.pacing.queueTime
            if senders.all[index].pushed(stream.layers[layer], patience: patience, now: now) == .fellBehind {
                hasFallenBehind = true
                fellBehind(index, now: now)
            }
            senders.markReady(index)
        }
        release(layer, hasFallenBehind: hasFallenBehind, now: now)
    }

    /// How long frames may wait for a viewer that can move to the reduced layer: longer than most interruptions of a
    /// good path, shorter than a freeze that a person notices.
    private static let queueTimeIfMovable = Duration.milliseconds(200)

    /// All viewers of the layer wait for a keyframe, so a frame that isn't one is of no use.
    private func allAwaitKeyframe(_ layer: Int) -> Bool {
        guard !isExpected(layer) || stream.layers[layer].keyframePosition == nil else { return false }
        return !senders.all.indices.contains {
            senders.all[$0].layer == layer && senders.all[$0].destination.isSet
                && senders.all[$0].cursor.next != .keyframe
        }
    }

    /// Removes frames that no sender needs, and reports those that were sent to nobody.
    private mutating func release(_ layer: Int, hasFallenBehind: Bool, now: MediaTime) {
        var (needed, next) = (Int?.none, Int?.none)
        for index in senders.all.indices where senders.all[index].layer == layer && senders.all[index].destination.isSet
        {
            if let own = senders.all[index].cursor.needed { needed = min(needed ?? own, own) }
            if case .frame(let own) = senders.all[index].cursor.next { next = min(next ?? own, own) }
        }
        if needed == nil, isExpected(layer) { needed = stream.layers[layer].keyframePosition }
        var count = 0
        if hasFallenBehind, allAwaitKeyframe(layer) {
            // Senders in the middle of a frame finish it.
            let current = senders.all.indices.compactMap {
                senders.all[$0].layer == layer ? senders.all[$0].cursor.current?.position : nil
            }.max()
            count += stream.layers[layer].dropUnsent(from: current.map { $0 + 1 } ?? 0)
            dropped[layer] = dropped[layer] ?? 0
        }
        if let next { count += stream.layers[layer].drop(before: next) }
        count += stream.layers[layer].release(before: needed, now: now)
        reportDropped(count)
    }

    /// Counts a frame that no viewer can decode. Not at the beginning and while nobody watches, when that is no loss.
    private mutating func countDropped(in layer: Int) {
        guard let count = dropped[layer] else { return }
        totals.dropped += 1
        dropped[layer] = count + 1
    }

    private mutating func reportDropped(_ count: Int) {
        guard count > 0 else { return }
        totals.dropped += UInt64(count)
        emit(.framesDropped(count))
    }

    func isWatched(_ layer: Int) -> Bool {
        senders.all.indices.contains { senders.all[$0].layer == layer && senders.all[$0].destination.isSet }
    }

    /// A viewer whose address is being validated is about to get the layer.
    func isExpected(_ layer: Int) -> Bool {
        senders.all.indices.contains {
            senders.all[$0].layer == layer && !senders.all[$0].destination.isSet
                && senders.all[$0].validation.expiry != nil
        }
    }

    // MARK: Serving senders

    /// The next burst for that viewer, if one may leave now.
    mutating func serve(_ index: Int, now: MediaTime) -> MediaBurst? {
        guard stream.isOn else {
            finishTurn(index, now: now)
            return nil
        }
        let layer = senders.all[index].layer
        // Retransmissions go before new frames.
        let again = senders.all[index].nextRetransmission(
            stream.layers[layer], sealer: stream.sealer, memory: &retransmissionMemory, now: now)
        if let again {
            totals.retransmissions += UInt64(again.datagramCount)
            count(again)
            return again
        }
        let step = senders.all[index].step(
            &stream.layers[layer], sealer: stream.sealer, parityShare: stream.parityShare[layer], now: now)
        switch step {
        case .send(let burst, let begins):
            if begins { began(index, layer) }
            count(burst)
            return burst
        case .unsendable(let position):
            unsendable(position, layer, now: now)
        case .fellBehind:
            fellBehind(index, now: now)
        case .none:
            finishTurn(index, now: now)
        }
        return nil
    }

    private mutating func finishTurn(_ index: Int, now: MediaTime) {
        let layer = senders.all[index].layer
        if senders.note(senders.all[index].contribution(stream.layers[layer], now: now), at: index) {
            isDirty[layer] = true
        }
        senders.finishTurn(index, now: now)
    }

    /// Counts a frame when its first viewer gets it.
    private mutating func began(_ index: Int, _ layer: Int) {
        guard let position = senders.all[index].lastBegun, stream.layers[layer].begin(position) else { return }
        totals.frames += 1
        if stream.layers[layer][position].unit.isKeyframe { totals.keyframes += 1 }
    }

    /// Nobody can get that frame: viewers that were to get it need a keyframe.
    private mutating func unsendable(_ position: Int, _ layer: Int, now: MediaTime) {
        reportDropped(1)
        dropped[layer] = dropped[layer] ?? 0
        let isKeyframe = stream.layers[layer].contains(position) && stream.layers[layer][position].unit.isKeyframe
        for index in senders.all.indices where senders.all[index].layer == layer {
            guard case .frame(let next) = senders.all[index].cursor.next, next <= position else { continue }
            senders.all[index].interrupt()
            senders.all[index].waitForKeyframe(now: now)
            senders.markReady(index)
        }
        // If a keyframe can't be sent, the next is requested later, as it would probably fail, too.
        if !isKeyframe { requestKeyframe(layer: layer, isShared: false, now: now) }
    }

    mutating func perform(_ due: Sender.Due, of index: Int, now: MediaTime) {
        switch due {
        case .none: break
        case .stopped:
            let seconds = Int(clamping: HostLimits.streamTimeout.inSeconds)
            stopStream(index, reason: "no hello has come from it by UDP for \(seconds) s")
        case .validationFailed: stopIdleLayers()
        case .fellSilent: fellSilent(index, now: now)
        case .probe:
            senders.all[index].probed(now: now)
            sendState(to: index, now: now)
        case .evict(let reason): evict(index, reason: reason)
        case .tail: sendTailProbe(to: index)
        case .needsKeyframe: requestKeyframe(for: index, now: now)
        case .shownSize: shownSizeChanged(index, now: now)
        case .probeLengths(let probes):
            for probe in probes { sendProbe(probe, to: index, now: now) }
        }
    }

    /// The path is dead until something is received from the viewer again.
    mutating func fellSilent(_ index: Int, now: MediaTime) {
        senders.all[index].fellSilent(now: now)
        senders.all[index].probed(now: now)
        sendState(to: index, now: now)
    }

    mutating func perform(_ verdict: Sender.Verdict, of index: Int, now: MediaTime) {
        switch verdict {
        case .none: abandonLatePicture(index, now: now)
        case .needsKeyframe: requestKeyframe(for: index, now: now)
        case .evict(let reason): evict(index, reason: reason)
        }
    }

    /// Evicts a viewer that has exceeded a limit no honest viewer reaches.
    mutating func evict(_ index: Int, reason: String) {
        outputs.append(.evict(senders.all[index].id, reason: reason))
    }

    // MARK: Keyframes

    private mutating func keyframeCame(_ layer: Int, now: MediaTime) {
        let isPeriodic = senders.all.indices.contains {
            senders.all[$0].layer == layer && senders.all[$0].form == .version1 && senders.all[$0].destination.isSet
        }
        stream.layers[layer].keyframes.keyframeCame(now: now, isPeriodic: isPeriodic)
        if let count = dropped[layer], count > 0 { emit(.framesDropped(count)) }
        dropped[layer] = nil
    }

    /// A viewer joins the layer, with the newest keyframe if that is recent enough.
    mutating func join(_ index: Int, now: MediaTime) {
        let layer = senders.all[index].layer
        senders.markReady(index)
        let isFirst = !senders.all.indices.contains {
            $0 != index && senders.all[$0].layer == layer && senders.all[$0].destination.isSet
        }
        let position = stream.layers[layer].joinPosition(
            within: isFirst ? AddressValidation.lifetime : SimulcastLayer.joinTime,
            keyNumber: senders.all[index].mediaKey, size: senders.all[index].datagramSize, now: now)
        if let position, position >= senders.all[index].freshFrom { return senders.all[index].begin(at: position) }
        senders.all[index].waitForKeyframe(now: now)
        requestKeyframe(layer: layer, isShared: isShared(index), now: now)
    }

    /// A viewer that had the stream needs a keyframe. While others in its layer watch, it has a budget of keyframes;
    /// when that is used up, it moves to the reduced layer instead. One that is made anyway costs it nothing.
    mutating func requestKeyframe(for index: Int, now: MediaTime) {
        let isShared = isShared(index)
        senders.markReady(index)
        senders.all[index].waitForKeyframe(now: now)
        let isDue = stream.layers[senders.all[index].layer].keyframes.isDue
        if !isShared || isDue || senders.all[index].rateLimits.payKeyframe(now: now) {
            requestKeyframe(layer: senders.all[index].layer, isShared: isShared, now: now)
        } else if canMove(index) {
            move(index, to: SimulcastLayer.reduced, now: now)
        } else if isInGroup(index), now - sharedKeyframe >= Self.sharedKeyframeInterval {
            // It can't go to another layer: without a keyframe it would see nothing more.
            sharedKeyframe = now
            requestKeyframe(layer: senders.all[index].layer, isShared: true, now: now)
        }
    }

    /// Between keyframes for viewers of a shared bottleneck whose budget is used up, as it is after an overload.
    private static let sharedKeyframeInterval = Duration.seconds(3)

    /// Other viewers of its layer watch and need no keyframe.
    private func isShared(_ index: Int) -> Bool {
        let layer = senders.all[index].layer
        return senders.all.indices.contains {
            $0 != index && senders.all[$0].layer == layer && senders.all[$0].isReachable
                && senders.all[$0].cursor.isStreaming
        }
    }

    mutating func requestKeyframe(layer: Int, isShared: Bool, now: MediaTime) {
        let action =
            isShared
            ? stream.layers[layer].keyframes.requestLimited(now: now) : stream.layers[layer].keyframes.request(now: now)
        perform(action, layer: layer)
    }

    private mutating func perform(_ action: KeyframeSchedule.Action, layer: Int) {
        guard action == .request else { return }
        isDirty[layer] = true
        outputs.append(.requestKeyframe(layer: layer))
    }

    mutating func streamDeadlineReached(now: MediaTime) {
        perform(stream.keyDeadlineReached(now: now, random: &random), now: now)
        if stream.sound.deadlineReached(now: now) { outputs.append(.soundDemand(stream.sound.demand)) }
        for layer in stream.layers.indices {
            perform(stream.layers[layer].keyframes.deadlineReached(now: now), layer: layer)
            if let until = stream.layers[layer].temporalUntil, until <= now {
                isDirty[layer] = true
                stream.layers[layer].temporalUntil = nil
            }
        }
    }

    // MARK: Falling behind

    /// A viewer has fallen behind: it goes on with a keyframe, in the reduced layer if others watch.
    mutating func fellBehind(_ index: Int, now: MediaTime) {
        // No reports yet, so no estimate of the path.
        if senders.all[index].isSilent || !senders.all[index].hasAnswered { return senders.all[index].interrupt() }
        if canMove(index), !carriesMost(ofLayerOf: index, now: now) {
            return move(index, to: SimulcastLayer.reduced, now: now)
        }
        requestKeyframe(for: index, now: now)
    }

    /// The viewer's path carries most of `rate`, its layer's bits a second, or hasn't answered yet. If such a viewer is
    /// late, the cause is a keyframe that others needed, or a busy machine: it catches up in its layer.
    private func carriesMost(of rate: Double, _ index: Int) -> Bool {
        guard let path = senders.all[index].delivery?.path else { return false }
        guard path.hasAnswered else { return true }
        return !path.isBound || Double(path.rate) >= rate * Self.leaveShare
    }

    private mutating func carriesMost(ofLayerOf index: Int, now: MediaTime) -> Bool {
        carriesMost(of: stream.layers[senders.all[index].layer].use.current(now: now), index)
    }

    /// A backlog that takes longer than this to send is outdated.
    private static let longestPicture = Duration.milliseconds(700)

    /// When a path turns out to be slow, a picture made for a fast one may still be waiting. Drops it: a smaller one
    /// made now arrives sooner.
    mutating func abandonLatePicture(_ index: Int, now: MediaTime) {
        guard senders.all[index].delivery?.path.isBound == true, stream.isOn, senders.all[index].isReachable else {
            return
        }
        let layer = senders.all[index].layer
        let isAlone = !canMove(index)
        let resendTime = senders.all[index].delivery?.resendTime ?? .zero
        let rest = senders.all[index].backlogTime(stream.layers[layer], now: now) + resendTime
        guard rest > (isAlone ? Self.longestPicture : Self.longestPicture / 2) else { return }
        guard isAlone else {
            // What is late in a layer that the path carries was probably a keyframe for others. A new one takes as long.
            if !carriesMost(ofLayerOf: index, now: now) { move(index, to: SimulcastLayer.reduced, now: now) }
            return
        }
        guard senders.all[index].delivery?.dropsLatePicture() == true else { return }
        senders.all[index].abandon(now: now)
        release(layer, hasFallenBehind: true, now: now)
        requestKeyframe(for: index, now: now)
    }

    // MARK: Layers

    /// A viewer leaves the full layer if its path carries less than this share of the layer's bit rate: then even half
    /// of the frames are too many.
    private static let leaveShare = LayerRate.halfOfFrames
    /// A viewer returns when its path carries this share of the full layer's peak bit rate of the last minute.
    private static let returnShare = 0.7
    /// The most devices whose hysteresis is kept.
    private static let mostRemembered = 64

    /// The viewer is in the full layer, and others watch or record that.
    private func canMove(_ index: Int, reachable: Int) -> Bool {
        guard senders.all[index].form == .version2, senders.all[index].layer == SimulcastLayer.full,
            !isInGroup(index)
        else { return false }
        return isFullLayerKept || reachable > (senders.all[index].isReachable ? 1 : 0)
    }

    private func canMove(_ index: Int) -> Bool {
        canMove(index, reachable: reachableCount(SimulcastLayer.full))
    }

    /// How many viewers of that layer have paths that aren't silent.
    private func reachableCount(_ layer: Int) -> Int {
        senders.all.indices.count { senders.all[$0].layer == layer && senders.all[$0].isReachable }
    }

    /// Moves the viewer to the layer that suits its bandwidth estimate.
    mutating func chooseLayer(_ index: Int, now: MediaTime) {
        guard let rates = pathRates(index), !senders.all[index].isSilent else { return }
        if fitsShownSize(index, now: now) { return }
        if configuration.usesFullChroma, !rates.decodesFullChroma { return }
        if isInGroup(index) { return }
        if senders.all[index].layer == SimulcastLayer.full {
            // Only a path below the layer's rate is compared with the others', which takes a look at each of them.
            let limit = stream.layers[SimulcastLayer.full].use.current(now: now) * Self.leaveShare
            let isSlow =
                rates.isBound && rates.rate < limit
                && (fastestOther(than: index).rate.map { rates.rate < $0 * Self.leaveShare } ?? false)
            if senders.all[index].hysteresis.isFarSlower(isSlow, now: now) {
                move(index, to: SimulcastLayer.reduced, now: now)
            }
        } else {
            let other = fastestOther(than: index)
            let peak = stream.layers[SimulcastLayer.full].use.peak(now: now)
            let isFast = other.rate.map { !rates.isBound || rates.rate > min($0, peak) * Self.returnShare } ?? true
            let mayReturn = senders.all[index].hysteresis.isFastEnough(isFast, now: now)
            // Its return costs those who watch the full layer a keyframe.
            if other.isNone || mayReturn && senders.all[index].rateLimits.payKeyframe(now: now) {
                move(index, to: SimulcastLayer.full, now: now)
            }
        }
    }

    /// The bandwidth estimate of a version 2 viewer in bits a second; nil for version 1.
    private func pathRates(_ index: Int) -> (rate: Double, isBound: Bool, decodesFullChroma: Bool)? {
        senders.all[index].delivery.map { (Double($0.path.rate), $0.path.isBound, $0.decodesFullChroma) }
    }

    /// The highest known bandwidth estimate, in bits a second, of other viewers of the full layer; `isNone` if there are
    /// no others.
    private func fastestOther(than index: Int) -> (rate: Double?, isNone: Bool) {
        // A recording takes the options' rate.
        var (isNone, best) = (!isFullLayerKept, isFullLayerKept ? configuration.bitRate : nil)
        for other in senders.all.indices
        where other != index && senders.all[other].layer == SimulcastLayer.full && senders.all[other].isReachable {
            isNone = false
            guard let path = senders.all[other].delivery?.path else {
                // Version 1 doesn't report: its path is assumed to carry the options' rate.
                best = max(best ?? 0, configuration.bitRate)
                continue
            }
            if path.isBound || path.isMeasured { best = max(best ?? 0, path.rate) }
        }
        return (best.map { Double($0) }, isNone)
    }

    mutating func move(_ index: Int, to layer: Int, isForSize: Bool = false, now: MediaTime) {
        isDirty[senders.all[index].layer] = true
        isDirty[layer] = true
        senders.all[index].move(to: layer, isForSize: isForSize, now: now)
        senders.markReady(index)
        remember(index)
        if stream.isOn, senders.all[index].destination.isSet { join(index, now: now) }
        let (session, isReduced) = (senders.all[index].session.description, layer == SimulcastLayer.reduced)
        emit(
            isForSize
                ? .layerFitted(session: session, isReduced: isReduced)
                : .layerChanged(session: session, isReduced: isReduced))
    }

    /// Keeps the hysteresis for when the device reconnects.
    private mutating func remember(_ index: Int) {
        guard let device = senders.all[index].device else { return }
        layerHistory.removeAll { $0.device == device }
        if layerHistory.count >= Self.mostRemembered {
            // Unpaired devices go first, as they can make any number of keys.
            layerHistory.remove(at: layerHistory.firstIndex { !$0.isPaired } ?? 0)
        }
        layerHistory.append((device, senders.all[index].isPaired, senders.all[index].hysteresis))
    }

    // MARK: Demand

    /// Outputs the layers' demands that have changed; false if none has.
    mutating func changeDemands(now: MediaTime) -> Bool {
        var hasChanged = isSoundDirty && updateSoundDemand(now: now)
        isSoundDirty = false
        let ceiling = isDirty.contains(true) ? sharedCeiling() : nil
        // Told last, so that a viewer that changes layers doesn't stop the source for a moment.
        var unwatched: [Output] = []
        for layer in isDirty.indices where isDirty[layer] {
            isDirty[layer] = false
            let contributions = senders.contributions.lazy.filter { $0.layer == layer }
            let isTemporal = stream.layers[layer].temporalUntil.map { $0 > now } ?? false
            let made = LayerDemand(
                contributions, isReduced: layer == SimulcastLayer.reduced,
                use: stream.layers[layer].use.current(now: now),
                isRequested: stream.layers[layer].keyframes.isRequested, last: stream.layers[layer].demand,
                isTemporal: isTemporal, isKept: isFullLayerKept && layer == SimulcastLayer.full,
                ceiling: ceiling, frameDivisor: shedding.divisor, scratch: &stream.scratch)
            stream.wantedRates[layer] = made.pathRate
            if made.hasSlowViewer { stream.layers[layer].temporalUntil = now + LayerDemand.temporalTime }
            stream.parityShare[layer] = made.parityShare
            let demand = stream.isOn ? made.demand : StreamDemand()
            guard demand != stream.layers[layer].demand else { continue }
            stream.layers[layer].demand = demand
            if demand.isWatched {
                outputs.append(.demand(demand, layer: layer))
            } else {
                unwatched.append(.demand(demand, layer: layer))
            }
            hasChanged = true
        }
        for output in unwatched { outputs.append(output) }
        return hasChanged
    }

    mutating func fullLayerKeptChanged(_ isKept: Bool, now: MediaTime) {
        guard isKept != isFullLayerKept else { return }
        isFullLayerKept = isKept
        isDirty[SimulcastLayer.full] = true
        for index in senders.all.indices { chooseLayer(index, now: now) }
    }

    mutating func stopIdleLayers() {
        for layer in stream.layers.indices where !isWatched(layer) && !isExpected(layer) {
            stream.layers[layer].removeAll()
            stream.layers[layer].keyframes.stop()
            isDirty[layer] = true
        }
    }
}
