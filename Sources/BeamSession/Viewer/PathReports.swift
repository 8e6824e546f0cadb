import BeamMedia
import BeamWire

/// What a viewer and its host tell each other of the path: how datagrams have arrived, which probes have, what the path
/// carries, and that only a keyframe can restore the picture. A pure value.
struct PathReports: Sendable {
    /// Probes that wait to be acknowledged; a host sends three at a time.
    private static let mostProbes = 16
    /// The longest plaintext of feedback in bytes: what fits into a datagram that passes where the host's shortest do.
    private static let longestFeedback = MediaLimits.feedbackLength - SealedHeader.overhead

    /// The host's bandwidth estimate and its sending rate.
    private(set) var rates: StreamState.Rates?
    /// Arrivals, for the reports to the host.
    private var arrivals = ArrivalLog()
    /// The numbers of probes of the path's MTU that wait to be acknowledged.
    private var probes: [UInt16] = []
    private var keyframeRequest = KeyframeRequest()
    /// A viewer that this one relays to needs a keyframe after this frame.
    private var keyframeWantedAfter: SequenceNumber?
    private var lastDelivered: SequenceNumber?

    var keyframesRequested: UInt64 { keyframeRequest.count }
    var stallCause: StallCause { arrivals.stallCause }

    /// Takes what the host says of the path.
    mutating func take(_ state: StreamState, now: MediaTime) {
        rates = state.rates ?? rates
        if state.wantsReport { arrivals.reportNow(now: now) }
        if let probe = state.probe, probes.count < Self.mostProbes { probes.append(probe) }
    }

    /// A viewer that this one relays to needs a keyframe.
    mutating func wantKeyframe() { keyframeWantedAfter = keyframeWantedAfter ?? lastDelivered }

    mutating func delivered(_ frame: ReceivedFrame) {
        lastDelivered = SequenceNumber(frame.number)
        if frame.isKeyframe { keyframeWantedAfter = nil }
    }

    /// Notes what has come, and whether a keyframe is needed.
    mutating func review(_ reassembler: inout Reassembler, canAskForKeyframes: Bool, now: MediaTime) {
        updateKeyframeRequest(neededAfter: reassembler.keyframeNeededAfter, canAsk: canAskForKeyframes, now: now)
        reassembler.moveArrivalEvents(to: &arrivals)
    }

    private mutating func updateKeyframeRequest(neededAfter: SequenceNumber?, canAsk: Bool, now: MediaTime) {
        let isNeeded = neededAfter != nil || keyframeWantedAfter != nil
        keyframeRequest.update(isWanted: canAsk && isNeeded, now: now)
    }

    /// When there is something to tell; `distantFuture`: nothing.
    func deadline(now: MediaTime) -> MediaTime {
        if !probes.isEmpty { return now }
        return min(keyframeRequest.deadline ?? .distantFuture, arrivals.deadline ?? .distantFuture)
    }

    /// The acknowledgements of all probes that have come.
    mutating func takeProbes() -> [Feedback] {
        defer { probes.removeAll(keepingCapacity: true) }
        return stride(from: 0, to: probes.count, by: Feedback.mostProbes).map {
            Feedback(probes: Array(probes[$0..<min($0 + Feedback.mostProbes, probes.count)]))
        }
    }

    /// What to send now: the keyframe request and the report that are due, that of the sound, and requests for missing
    /// parts, in as many datagrams as they need.
    mutating func take(
        _ reassembler: inout Reassembler, sound: Feedback.Sound?, canAskForKeyframes: Bool, now: MediaTime
    ) -> [Feedback] {
        var missing = reassembler.takeRequests(now: now)[...]
        updateKeyframeRequest(neededAfter: reassembler.keyframeNeededAfter, canAsk: canAskForKeyframes, now: now)
        var feedback = Feedback(layer: reassembler.layer ?? 0)
        if keyframeRequest.take(now: now) {
            feedback.keyframeAfter = reassembler.keyframeNeededAfter ?? keyframeWantedAfter
        }
        reassembler.moveArrivalEvents(to: &arrivals)
        feedback.report = arrivals.take(now: now)
        feedback.sound = sound
        var all: [Feedback] = []
        repeat {
            var length = feedback.encodedLength
            while let next = missing.first, length == 0 || length + next.encodedLength <= Self.longestFeedback {
                feedback.missing.append(next)
                length += next.encodedLength
                missing.removeFirst()
            }
            all.append(feedback)
            feedback = Feedback(layer: feedback.layer)
        } while !missing.isEmpty
        return all
    }
}
