import BeamMedia

/// When something is due of a sender, and what.
extension Sender {
    /// What the caller has to do.
    enum Due: Hashable, Sendable {
        /// Nothing; bursts are found by `step`.
        case none
        /// No hello came for `HostLimits.streamTimeout`: stop the stream.
        case stopped
        /// The address validation has failed.
        case validationFailed
        /// The path has become silent.
        case fellSilent
        /// Send a probe on the silent path.
        case probe
        /// The path was silent for `ViewerRateLimits.longestSilence`: evict the viewer.
        case evict(reason: String)
        /// Send the tail probe.
        case tail
        /// Repeat the keyframe request.
        case needsKeyframe
        /// Send these probes of the path's MTU.
        case probeLengths([PathMTU.Probe])
    }

    /// The next deadline, and what it is for.
    var wait: (until: MediaTime, for: SenderWaitReason) {
        var next = (until: MediaTime.distantFuture, for: SenderWaitReason.pace)
        func consider(_ time: MediaTime?, _ reason: SenderWaitReason) {
            if let time, time < next.until { next = (time, reason) }
        }
        consider(burstAllowedAt, .pace)
        consider(retransmissionAt, .retransmission)
        consider(destination.target.map { $0.lastHello + HostLimits.streamTimeout }, .hello)
        consider(validation.expiry, .addressValidation)
        if destination.isSet {
            // Only probes are due on a silent path. The other deadlines would pass without effect, and again at once.
            if isSilent {
                consider(nextProbe, .probe)
            } else {
                consider(tail.deadline, .tail)
                if !cursor.isStreaming { consider(keyframeRetry, .keyframe) }
                consider(delivery?.path.deadline, .path)
            }
            consider(delivery?.mtu.deadline, .mtu)
        }
        return next
    }

    mutating func deadlineReached(now: MediaTime) -> Due {
        if let expiry = validation.expiry, expiry <= now {
            validation.cancel()
            return .validationFailed
        }
        guard let target = destination.target else { return .none }
        if target.lastHello + HostLimits.streamTimeout <= now { return .stopped }
        // Also on a silent path: it may be silent because long datagrams don't pass.
        if let deadline = delivery?.mtu.deadline, deadline <= now {
            let roundTrip = roundTrip
            let probes = delivery?.mtu.takeProbes(roundTrip: roundTrip, now: now) ?? []
            if !probes.isEmpty { return .probeLengths(probes) }
        }
        if isSilent {
            guard let nextProbe, nextProbe <= now else { return .none }
            if let since = delivery?.silentSince, now - since > ViewerRateLimits.longestSilence {
                return .evict(reason: "it reported that nothing sent to it arrives")
            }
            return .probe
        }
        if let deadline = delivery?.path.deadline, deadline <= now {
            delivery?.path.timePassed(now: now)
            if isSilent { return .fellSilent }
        }
        if tail.take(now: now) { return .tail }
        if !cursor.isStreaming, let keyframeRetry, keyframeRetry <= now {
            self.keyframeRetry = nil
            return .needsKeyframe
        }
        return .none
    }

    /// Before it is known, longer than on most networks.
    var roundTrip: Duration { delivery?.path.roundTrip ?? .milliseconds(100) }

    /// The path has become silent: from now on only probes are sent.
    mutating func fellSilent(now: MediaTime) {
        delivery?.silentSince = now
        delivery?.retransmissions.removeAll()
    }

    /// From one probe of a silent path to the next: within the first second, because a burst of losses swallows several,
    /// and later.
    private static let firstProbing = Duration.milliseconds(25)
    private static let probing = Duration.milliseconds(100)

    /// A probe is being sent.
    mutating func probed(now: MediaTime) {
        delivery?.probed(now: now)
        let isFirst = delivery?.silentSince.map { now - $0 < .seconds(1) } ?? false
        nextProbe = now + (isFirst ? Self.firstProbing : Self.probing)
    }
}
