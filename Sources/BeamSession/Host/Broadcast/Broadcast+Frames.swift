import BeamMedia

/// Passes frames from the layers to the senders.
extension Broadcast {
    // MARK: Frames

    /// What is known of a layer's guests, found in one pass over them.
    private struct Survey {
        /// The stream goes to somebody; the address of somebody who is about to get the layer is being validated.
        var isWatched = false
        var isExpected = false
        /// Somebody gets the stream in version 1.
        var hasVersion1 = false
        /// Somebody who gets the stream has the frames that the next ones refer to.
        var isAnyStreaming = false
        /// Guests whose paths aren't silent.
        var reachable = 0
    }

    private func survey(_ layer: Int) -> Survey {
        var survey = Survey()
        for index in senders.all.indices where layers[index] == layer {
            guard senders.all[index].destination.isSet else {
                if senders.all[index].validation.expiry != nil { survey.isExpected = true }
                continue
            }
            survey.isWatched = true
            if senders.all[index].form == .version1 { survey.hasVersion1 = true }
            if senders.all[index].cursor.next != .keyframe { survey.isAnyStreaming = true }
            if !senders.all[index].isSilent { survey.reachable += 1 }
        }
        return survey
    }

    /// Takes an encoded frame. It is sent to every guest of its layer, as fast as each path allows, with a sequence number
    /// of the broadcast.
    mutating func handleFrame(_ frame: EncodedFrame, now: MediaTime) {
        let layer = frame.layer
        guard stream.isOn, stream.layers.indices.contains(layer) else { return }
        let survey = self.survey(layer)
        guard survey.isWatched || survey.isExpected else { return }
        if frame.isKeyframe {
            keyframeCame(layer, isPeriodic: survey.hasVersion1, now: now)
        } else if allAwaitKeyframe(layer, survey) {
            return countDropped(in: layer)
        }
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        stream.layers[layer].push(frame, now: now)
        senders.beginFrame()
        let rate = stream.layers[layer].use.current(now: now)
        var (needs, hasFallenBehind) = (Needs(), false)
        for index in senders.all.indices where layers[index] == layer {
            // Asked only of a guest that is behind: to look at a path costs more than all the rest.
            let isImpatient =
                senders.all[index].isBehind(stream.layers[layer])
                && layers.canLeaveFull(
                    index, isReachable: senders.all[index].isReachable, reachable: survey.reachable)
                && !senders.path(index).carriesMost(of: rate)
            let patience = isImpatient ? Self.queueTimeIfMovable : configuration.pacing.queueTime
            if senders.all[index].pushed(stream.layers[layer], patience: patience, now: now) == .fellBehind {
                hasFallenBehind = true
                fellBehind(index, now: now)
            }
            senders.markReady(index)
            if senders.all[index].destination.isSet { needs.add(senders.all[index].cursor) }
        }
        if hasFallenBehind {
            releaseAfterFall(layer, now: now)
        } else {
            release(layer, needs, isExpected: survey.isExpected, now: now)
        }
    }

    /// How long frames may wait for a viewer that can move to the reduced layer: longer than most interruptions of a
    /// good path, shorter than a freeze that a person notices.
    private static let queueTimeIfMovable = Duration.milliseconds(200)

    /// All viewers of the layer wait for a keyframe, so a frame that isn't one is of no use.
    private func allAwaitKeyframe(_ layer: Int, _ survey: Survey) -> Bool {
        !survey.isAnyStreaming && (!survey.isExpected || stream.layers[layer].keyframePosition == nil)
    }

    // MARK: Releasing frames

    /// The oldest frame of a layer that a sender still needs, and the oldest that one begins next.
    struct Needs {
        private(set) var needed: Int?
        private(set) var next: Int?

        mutating func add(_ cursor: Cursor) {
            if let own = cursor.needed { needed = min(needed ?? own, own) }
            if case .frame(let own) = cursor.next { next = min(next ?? own, own) }
        }
    }

    /// Removes frames that no sender needs, and reports those that were sent to nobody. `dropped`: how many were dropped
    /// already.
    private mutating func release(_ layer: Int, _ needs: Needs, isExpected: Bool, dropped: Int = 0, now: MediaTime) {
        let needed = needs.needed ?? (isExpected ? stream.layers[layer].keyframePosition : nil)
        var count = dropped
        if let next = needs.next { count += stream.layers[layer].drop(before: next) }
        count += stream.layers[layer].release(before: needed, now: now)
        reportDropped(count)
    }

    /// The same after senders have given up frames: if all wait for a keyframe, frames that nobody has begun are dropped.
    private mutating func releaseAfterFall(_ layer: Int, now: MediaTime) {
        let survey = self.survey(layer)
        var (needs, current, count) = (Needs(), Int?.none, 0)
        for index in senders.all.indices where layers[index] == layer {
            if senders.all[index].destination.isSet { needs.add(senders.all[index].cursor) }
            if let own = senders.all[index].cursor.current?.position { current = max(current ?? own, own) }
        }
        if allAwaitKeyframe(layer, survey) {
            // Senders in the middle of a frame finish it.
            count = stream.layers[layer].dropUnsent(from: current.map { $0 + 1 } ?? 0)
            dropped[layer] = dropped[layer] ?? 0
        }
        release(layer, needs, isExpected: survey.isExpected, dropped: count, now: now)
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

    // MARK: Serving senders

    /// The next burst for that viewer, if one may leave now.
    mutating func serve(_ index: Int, now: MediaTime) -> MediaBurst? {
        guard stream.isOn else {
            finishTurn(index, now: now)
            return nil
        }
        let layer = layers[index]
        // Retransmissions go before new frames.
        let again = senders.all[index].nextRetransmission(
            stream.layers[layer], sealer: stream.sealer, memory: &retransmissionMemory, now: now)
        if let again {
            totals.retransmissions += UInt64(again.datagramCount)
            count(again)
            return again
        }
        if !senders.all[index].patches.queue.isEmpty {
            if let burst = senders.all[index].nextPatchPiece(now: now) {
                count(burst)
                return burst
            }
            if !senders.all[index].patches.queue.isEmpty {
                finishTurn(index, now: now)
                return nil
            }
        }
        let isFirst = !senders.all[index].hasSentPicture
        let step = senders.all[index].step(
            &stream.layers[layer], sealer: stream.sealer, parityShare: stream.parityShare[layer], now: now)
        switch step {
        case .send(let burst, let begins):
            if begins { began(index, layer) }
            if isFirst, senders.all[index].hasSentPicture { tellNewestChange(to: index) }
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
        let (layer, shown) = (layers[index], layers.shown(index))
        let contribution = senders.all[index].contribution(stream.layers[layer], shown: shown, now: now)
        if senders.note(contribution, at: index) { isDirty[layer] = true }
        senders.finishTurn(index, wishDeadline: layers.deadline(index), now: now)
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
        for index in senders.all.indices where layers[index] == layer {
            guard case .frame(let next) = senders.all[index].cursor.next, next <= position else { continue }
            senders.all[index].interrupt()
            senders.all[index].waitForKeyframe(now: now)
            senders.markReady(index)
        }
        // If a keyframe can't be sent, the next is requested later, as it would probably fail, too.
        if !isKeyframe { requestKeyframe(layer: layer, isShared: false, now: now) }
    }

    // MARK: Falling behind

    /// A viewer has fallen behind: it goes on with a keyframe, in the reduced layer if others watch.
    mutating func fellBehind(_ index: Int, now: MediaTime) {
        // No reports yet, so no estimate of the path.
        if senders.all[index].isSilent || !senders.all[index].hasAnswered { return senders.all[index].interrupt() }
        if layers.canLeaveFull(index, senders), !carriesMost(index, now: now) {
            return carryOut(layers.leaveFull(index, now: now), of: index, now: now)
        }
        requestKeyframe(for: index, now: now)
    }

    /// The guest's path carries most of what its layer takes.
    private mutating func carriesMost(_ index: Int, now: MediaTime) -> Bool {
        senders.path(index).carriesMost(of: stream.layers[layers[index]].use.current(now: now))
    }

    /// A backlog that takes longer than this to send is outdated.
    private static let longestPicture = Duration.milliseconds(700)

    /// When a path turns out to be slow, a picture made for a fast one may still be waiting. Drops it: a smaller one
    /// made now arrives sooner.
    mutating func abandonLatePicture(_ index: Int, now: MediaTime) {
        guard senders.all[index].delivery?.path.isBound == true, stream.isOn, senders.all[index].isReachable else {
            return
        }
        let layer = layers[index]
        let resendTime = senders.all[index].delivery?.resendTime ?? .zero
        let rest = senders.all[index].backlogTime(stream.layers[layer], now: now) + resendTime
        guard rest > Self.longestPicture / 2 else { return }
        // Asked late, because it looks at every guest, and hardly ever matters.
        let isAlone = !layers.canLeaveFull(index, senders)
        guard !isAlone || rest > Self.longestPicture else { return }
        guard isAlone else {
            // What is late in a layer that the path carries was probably a keyframe for others. A new one takes as long.
            if !carriesMost(index, now: now) { carryOut(layers.leaveFull(index, now: now), of: index, now: now) }
            return
        }
        guard senders.all[index].delivery?.dropsLatePicture() == true else { return }
        senders.all[index].abandon(now: now)
        releaseAfterFall(layer, now: now)
        requestKeyframe(for: index, now: now)
    }
}
