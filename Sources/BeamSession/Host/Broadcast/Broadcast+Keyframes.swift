import BeamMedia

/// Requests keyframes: at once for a guest that is alone, within limits where others pay for them, too.
extension Broadcast {
    /// `isPeriodic`: somebody gets the stream in version 1.
    mutating func keyframeCame(_ layer: Int, isPeriodic: Bool, now: MediaTime) {
        stream.layers[layer].keyframes.keyframeCame(now: now, isPeriodic: isPeriodic)
        if let count = dropped[layer], count > 0 { emit(.framesDropped(count)) }
        dropped[layer] = nil
    }

    /// A viewer joins the layer, with the newest keyframe if that is recent enough.
    mutating func join(_ index: Int, now: MediaTime) {
        let layer = layers[index]
        senders.markReady(index)
        let isFirst = !senders.all.indices.contains {
            $0 != index && layers[$0] == layer && senders.all[$0].destination.isSet
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
        let isDue = stream.layers[layers[index]].keyframes.isDue
        if !isShared || isDue || layers.payKeyframe(index, now: now) {
            requestKeyframe(layer: layers[index], isShared: isShared, now: now)
        } else if layers.canLeaveFull(index, senders) {
            carryOut(layers.leaveFull(index, now: now), of: index, now: now)
        } else if layers.takeGroupKeyframe(index, now: now) {
            requestKeyframe(layer: layers[index], isShared: true, now: now)
        }
    }

    /// Other viewers of its layer watch and need no keyframe.
    private func isShared(_ index: Int) -> Bool {
        senders.all.indices.contains {
            $0 != index && layers[$0] == layers[index] && senders.all[$0].isReachable
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
        pointerDeadlineReached(now: now)
        for layer in stream.layers.indices {
            perform(stream.layers[layer].keyframes.deadlineReached(now: now), layer: layer)
            if let until = stream.layers[layer].temporalUntil, until <= now {
                isDirty[layer] = true
                stream.layers[layer].temporalUntil = nil
            }
        }
    }
}
