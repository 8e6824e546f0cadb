import BeamMedia
import BeamWire

/// Handles a viewer's feedback, and tells the layer what its path carries.
extension Sender {
    /// What the caller has to do.
    enum Verdict: Hashable, Sendable {
        case none
        /// No retransmission can help the viewer any more.
        case needsKeyframe
        case evict(reason: String)
    }

    /// Takes a report of how frames have arrived.
    mutating func take(_ report: Feedback.Report, now: MediaTime) -> Verdict {
        let falseReports = report.arrivals.count { isFalse($0) }
        if case .evict(let reason) = rateLimits.stated(falseReports: falseReports, now: now) {
            return .evict(reason: reason)
        }
        delivery?.take(report, now: now)
        return .none
    }

    /// The report claims more parts than the frame has, or a frame that wasn't sent yet.
    private func isFalse(_ arrival: Feedback.Arrival) -> Bool {
        guard let newest = delivery?.log.newest else { return false }
        if let frame = delivery?.log.frame(arrival.frame) { return Int(arrival.received) > frame.partCount }
        return arrival.frame.distance(from: newest) > 0
    }

    /// Takes a request for missing parts of a frame.
    mutating func take(_ missing: Feedback.Missing, of layer: SimulcastLayer, now: MediaTime) -> Verdict {
        // `delivery` is only used in place: a copy would copy its buffers as soon as one changes.
        guard let roundTrip = delivery?.path.leastRoundTrip, let pause = delivery?.resendPause, !isSilent else {
            return .none
        }
        guard let frame = delivery?.log.resendable(missing.frame, now: now), layer.sent[missing.frame] != nil else {
            return isTooLate(missing.frame) ? .needsKeyframe : .none
        }
        // Parts that weren't sent yet aren't missing, and the request can't know of those that were sent less than a
        // round trip ago (a quarter less, because ages are rounded and clocks drift).
        let sent = 0..<(delivery?.log.partsSent(of: frame, by: now - roundTrip * 3 / 4) ?? 0)
        let parts = (missing.parts.isEmpty ? [sent] : missing.parts.map { $0.clamped(to: sent) }).filter { !$0.isEmpty }
        let count = parts.reduce(0) { $0 + $1.count }
        let loss = delivery?.path.loss ?? 0
        if case .evict(let reason) = rateLimits.partsRequested(count, loss: loss, now: now) {
            return .evict(reason: reason)
        }
        // Parts that the viewer misses are no longer in flight.
        if let last = parts.map(\.upperBound).max(), last > 0,
            let departure = delivery?.log.departure(of: missing.frame, part: last - 1)
        {
            delivery?.path.heard(sentBefore: departure.time, now: now)
        }
        let hasRoom =
            delivery?.retransmissions.request(parts.joined(), of: missing.frame, pause: pause, now: now) ?? true
        guard !hasRoom else { return .none }
        delivery?.retransmissions.removeAll()
        return .needsKeyframe
    }

    /// The frame can't be retransmitted, and no keyframe was sent after it. (A frame that was skipped for this viewer
    /// isn't needed.)
    private func isTooLate(_ number: SequenceNumber) -> Bool {
        guard let newest = delivery?.log.newest, newest.distance(from: number) >= 0,
            delivery?.log.isSkipped(number) == false
        else { return false }
        return delivery?.log.newestKeyframe.map { $0.distance(from: number) <= 0 } ?? true
    }

    /// After a silence longer than this, a keyframe is better than all that was missed.
    private static let longestSilence = Duration.milliseconds(400)

    /// After a silence: the waiting frames are of no use any more.
    func isOutdated(now: MediaTime) -> Bool {
        let silence = delivery?.silentSince.map { now - $0 } ?? .zero
        return silence > Self.longestSilence || !cursor.isStreaming
    }

    // MARK: The path's MTU

    /// The viewer was heard, and has acknowledged these probes. True if only shorter datagrams reach it, so that all
    /// that is in flight is lost: it needs a keyframe. `end`: the position of the layer's next frame.
    mutating func heard(probes: [UInt16], end: Int, now: MediaTime) -> Bool {
        guard delivery != nil else { return false }
        let roundTrip = roundTrip
        var isShorter = false
        for probe in probes {
            if delivery?.mtu.acknowledged(probe, roundTrip: roundTrip, now: now) == true { isShorter = true }
        }
        guard isShorter else {
            delivery?.mtu.heard(roundTrip: roundTrip, now: now)
            return false
        }
        abandon(now: now)
        freshFrom = end
        delivery?.lengthChanged()
        return true
    }

    // MARK: Contribution to the layer

    /// How much of the encoder's output the path carries and the viewer wishes, after retransmissions and parity.
    func layerPath(now: MediaTime) -> LayerRate.Path {
        delivery?.layerPath(wish: quota.wish.bitRate, now: now) ?? .unbound
    }

    /// A backlog that takes longer than this to send holds the encoder: a frame made now would only wait, too.
    static let longestBacklog = Duration.milliseconds(5)
    /// The same for waiting retransmissions, which go before new frames.
    static let longestResend = Duration.milliseconds(30)

    /// `shown`: how large the layer's picture has to be for the viewer.
    mutating func contribution(
        _ layer: SimulcastLayer, shown: ShownSize, now: MediaTime
    ) -> Senders.Contribution {
        let isBacklogged =
            backlog(layer) > 0 && (isBlocked || backlogTime(layer, now: now) > Self.longestBacklog)
        let isResending = (delivery?.resendTime ?? .zero) > Self.longestResend
        return Senders.Contribution(
            layer: layer.number, path: layerPath(now: now), isReachable: isReachable, isStreaming: cursor.isStreaming,
            isBusy: isBacklogged || isResending, parityShare: parityShare, reports: form == .version2,
            eighths: shown.applied, limit: shown.limit, limitForOthers: shown.limitForOthers,
            frameRate: quota.wish.frameRate,
            patchTakers: patches.isTaken ? patches.takers.subtracting(.losing) : .video,
            losesPatches: loses(now: now) || patches.takers.contains(.losing),
            takesPointer: pointer.isTaken, isWatching: destination.isSet,
            isExpected: !destination.isSet && validation.expiry != nil)
    }
}
