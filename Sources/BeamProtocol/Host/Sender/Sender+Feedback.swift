import BeamMedia

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
        guard let log = delivery?.log, let newest = log.newest else { return false }
        if let frame = log.frame(arrival.frame) { return Int(arrival.received) > frame.partCount }
        return arrival.frame.distance(from: newest) > 0
    }

    /// Takes a request for missing parts of a frame.
    mutating func take(_ missing: Feedback.Missing, of layer: SimulcastLayer, now: MediaTime) -> Verdict {
        guard let delivery, !delivery.path.isSilent else { return .none }
        guard let frame = delivery.log.resendable(missing.frame, now: now), layer.sent[missing.frame] != nil else {
            return isTooLate(missing.frame, delivery.log) ? .needsKeyframe : .none
        }
        // Parts that weren't sent yet aren't missing.
        let sent = 0..<frame.sent
        let parts = missing.parts.isEmpty ? [sent] : missing.parts.map { $0.clamped(to: sent) }
        let count = parts.reduce(0) { $0 + $1.count }
        if case .evict(let reason) = rateLimits.partsRequested(count, now: now) { return .evict(reason: reason) }
        // Parts that the viewer misses are no longer in flight.
        if let last = parts.map(\.upperBound).max(), last > 0,
            let departure = delivery.log.departure(of: missing.frame, part: last - 1)
        {
            self.delivery?.path.heard(sentBefore: departure.time, now: now)
        }
        let hasRoom =
            self.delivery?.retransmissions.request(
                parts.joined(), of: missing.frame, pause: delivery.resendPause, now: now) ?? true
        guard !hasRoom else { return .none }
        self.delivery?.retransmissions.removeAll()
        return .needsKeyframe
    }

    /// The frame can't be retransmitted, and no keyframe was sent after it. (A frame that was skipped for this viewer
    /// isn't needed.)
    private func isTooLate(_ number: SequenceNumber, _ log: DepartureLog) -> Bool {
        guard let newest = log.newest, newest.distance(from: number) >= 0, !log.isSkipped(number) else { return false }
        return log.newestKeyframe.map { $0.distance(from: number) <= 0 } ?? true
    }

    /// After a silence longer than this, a keyframe is better than all that was missed.
    private static let longestSilence = Duration.milliseconds(400)

    /// After a silence: the waiting frames are of no use any more.
    func isOutdated(now: MediaTime) -> Bool {
        let silence = delivery?.silentSince.map { now - $0 } ?? .zero
        return silence > Self.longestSilence || !cursor.isStreaming
    }

    // MARK: Contribution to the layer

    /// The share of a full datagram that isn't headers.
    private static let payloadShare = Double(MediaForm.version2.payloadLength) / Double(MediaLimits.datagramLength)

    /// How much of the encoder's output the path carries, after retransmissions and parity.
    var layerPath: LayerRate.Path {
        guard let delivery else { return .unbound }
        guard delivery.path.isBound else { return delivery.path.isMeasured ? .unbound : .unknown }
        let overhead = delivery.path.loss + delivery.parity.share
        return .bound(Int(clamping: Double(delivery.path.rate) * Self.payloadShare / (1 + overhead)))
    }

    /// A backlog that takes longer than this to send holds the encoder: a frame made now would only wait, too.
    static let longestBacklog = Duration.milliseconds(5)
    /// The same for waiting retransmissions, which go before new frames.
    static let longestResend = Duration.milliseconds(30)

    mutating func contribution(_ layer: SimulcastLayer, now: MediaTime) -> Senders.Contribution {
        let isBacklogged =
            backlog(layer) > 0 && (isBlocked || backlogTime(layer, now: now) > Self.longestBacklog)
        let isResending = delivery.map { $0.resendTime > Self.longestResend } ?? false
        return Senders.Contribution(
            layer: self.layer, path: layerPath, isReachable: isReachable, isStreaming: cursor.isStreaming,
            isBusy: isBacklogged || isResending, parityShare: parityShare, reports: form == .version2,
            isWatching: destination.isSet, isExpected: !destination.isSet && validation.expiry != nil)
    }
}
