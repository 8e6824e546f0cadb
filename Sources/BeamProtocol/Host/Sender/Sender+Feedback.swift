import BeamMedia

/// What a viewer says of the stream, and what it says of its path.
extension Sender {
    /// What has to be done about something that the viewer has said.
    enum Verdict: Hashable, Sendable {
        case none
        /// Nothing that can still be sent helps it.
        case needsKeyframe
        case evict(reason: String)
    }

    /// How what was sent has arrived.
    mutating func take(_ report: Feedback.Report, now: MediaTime) -> Verdict {
        let falsehoods = report.arrivals.count { isFalse($0) }
        if case .evict(let reason) = rateLimits.stated(falsehoods: falsehoods, now: now) {
            return .evict(reason: reason)
        }
        delivery?.take(report, now: now)
        return .none
    }

    /// More of the frame is said to have arrived than was sent of it, or the frame hasn't left yet.
    private func isFalse(_ arrival: Feedback.Arrival) -> Bool {
        guard let log = delivery?.log, let newest = log.newest else { return false }
        if let frame = log.frame(arrival.frame) { return Int(arrival.received) > frame.partCount }
        return arrival.frame.distance(from: newest) > 0
    }

    /// Parts that haven't arrived.
    mutating func take(_ missing: Feedback.Missing, of layer: SimulcastLayer, now: MediaTime) -> Verdict {
        guard let delivery, !delivery.path.isSilent else { return .none }
        guard let frame = delivery.log.resendable(missing.frame, now: now), layer.sent[missing.frame] != nil else {
            return isTooLate(missing.frame, delivery.log) ? .needsKeyframe : .none
        }
        // What hasn't left yet isn't missing.
        let sent = 0..<frame.sent
        let parts = missing.parts.isEmpty ? [sent] : missing.parts.map { $0.clamped(to: sent) }
        let count = parts.reduce(0) { $0 + $1.count }
        if case .evict(let reason) = rateLimits.partsAsked(count, now: now) { return .evict(reason: reason) }
        // Nor is it on its way.
        if let last = parts.map(\.upperBound).max(), last > 0,
            let departure = delivery.log.departure(of: missing.frame, part: last - 1)
        {
            self.delivery?.path.heard(sentBefore: departure.time, now: now)
        }
        let hasRoom =
            self.delivery?.retransmissions.ask(
                parts.joined(), of: missing.frame, pause: delivery.resendPause, now: now) ?? true
        guard !hasRoom else { return .none }
        self.delivery?.retransmissions.removeAll()
        return .needsKeyframe
    }

    /// The frame can't be sent again, and no keyframe has left since. (One that was left out for this viewer isn't missed.)
    private func isTooLate(_ number: SequenceNumber, _ log: DepartureLog) -> Bool {
        guard let newest = log.newest, newest.distance(from: number) >= 0, !log.isSkipped(number) else { return false }
        return log.newestKeyframe.map { $0.distance(from: number) <= 0 } ?? true
    }

    /// After a silence of so long a keyframe is better than all that was missed.
    private static let longestSilence = Duration.milliseconds(400)

    /// It has been heard again: what waits for it is of no use any more.
    func isOutdated(now: MediaTime) -> Bool {
        let silence = delivery?.silentSince.map { now - $0 } ?? .zero
        return silence > Self.longestSilence || !cursor.isStreaming
    }

    // MARK: What its path says to the layer

    /// Of what a path carries, the part that isn't headers.
    private static let payloadShare = Double(MediaForm.version2.payloadLength) / Double(MediaLimits.datagramLength)

    /// What of the encoder's output the path carries, beside retransmissions and parity.
    var layerPath: LayerRate.Path {
        guard let delivery else { return .unbound }
        guard delivery.path.isBound else { return delivery.path.isMeasured ? .unbound : .unknown }
        let overhead = delivery.path.loss + delivery.parity.share
        return .bound(Int(clamping: Double(delivery.path.rate) * Self.payloadShare / (1 + overhead)))
    }

    /// A frame that needs longer than this to leave keeps the encoder waiting: what it made now would only wait, too.
    static let longestBacklog = Duration.milliseconds(5)
    /// The same for what is to be sent again: new frames would only be in its way.
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
