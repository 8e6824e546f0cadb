import BeamMedia

/// What version 2 viewers say of the stream, and what they are told of it beside the frames.
extension HostSession {
    mutating func take(_ feedback: Feedback, now: MediaTime) {
        guard isBroadcasting, let lost = feedback.keyframeAfter else { return }
        // One that has left since is on its way already.
        if let keyframe = pacer.newestKeyframe, keyframe.distance(from: lost) > 0 { return }
        perform(keyframes.wanted(now: now))
    }

    /// Tells `viewer` that the host is there, and how far the stream has come.
    mutating func sayState(to viewer: PairedViewer) {
        guard let destination = viewer.stream.destination else { return }
        sayState(to: [destination.address])
    }

    /// A moment after the last frame: whoever has missed it learns so.
    mutating func tailReached(now: MediaTime) {
        if tail.take(now: now) { sayState(to: destinations { $0.isSecure }) }
        armTail()
    }

    mutating func armTail() {
        if let time = tail.deadline { deadlines.set(.tail, at: time) } else { deadlines.cancel(.tail) }
    }

    private mutating func sayState(to addresses: [NetworkAddress]) {
        guard !addresses.isEmpty, let state = pacer.sealedState() else { return }
        totals.datagrams += UInt64(addresses.count)
        totals.bytes += UInt64(state.count * addresses.count)
        outputs.append(
            .transmit(
                MediaBurst(
                    bytes: state, range: 0..<state.count, segmentSize: MediaLimits.datagramLength, addresses: addresses)
            ))
    }
}
