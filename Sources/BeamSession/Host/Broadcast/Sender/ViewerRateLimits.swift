import BeamMedia

/// Limits what a viewer may send and request. A viewer that exceeds them is evicted, and both ends are told why.
///
/// Each limit is several times what an honest viewer on a bad network needs; the tests on simulated networks check that
/// honest viewers stay below.
struct ViewerRateLimits: Sendable {
    /// What to do with a datagram or request.
    enum Verdict: Hashable, Sendable {
        case accept
        /// Drop it unread.
        case ignore
        case evict(reason: String)
    }

    /// Authentic datagrams a second that are read, hellos and feedback. An honest viewer sends a report every 8 ms at
    /// most, and requests in between.
    private static let datagramRate = 400
    /// Datagrams beyond that before eviction: a burst, and a rate a second. On a long path with bursts of losses an
    /// honest viewer repeats its requests every 4 ms, some 900 datagrams a second.
    private static let excessDatagrams = 3000
    private static let excessDatagramRate = 500
    /// Reports that can't be true before eviction: a burst, and a rate a second. A viewer that restarts may send a few.
    private static let falseStatements = 500
    private static let falseStatementRate = 10
    /// Keyframe requests before eviction: a burst, and a rate a second. An honest viewer repeats its request every 100
    /// ms until a keyframe comes.
    private static let keyframeRequests = 300
    private static let keyframeRequestRate = 20
    /// The most parts requested in relation to those sent, without loss. A part is lost and requested again 1 / (1 - loss)
    /// times on average, so the ratio grows with the loss that the viewer reports. A viewer that exaggerates it gets
    /// less: retransmissions are paced to its path's rate, which follows its reports.
    private static let mostRequestedRatio = 3.0
    /// The loss up to which the ratio grows: of a path that loses more, too little arrives to judge.
    private static let mostLoss = 0.97
    /// Fewer requested parts than this aren't judged.
    private static let fewRequested = 20_000
    private static let requestedMemory = Duration.seconds(10)
    /// The longest time without a report from a viewer whose hellos arrive.
    static let longestSilence = Duration.seconds(60)

    // These buckets count datagrams, statements or requests instead of bytes, hence 8 “bits” each.
    private var datagrams = TokenBucket(capacity: 100, bitsPerSecond: datagramRate * 8)
    private var excess = TokenBucket(capacity: excessDatagrams, bitsPerSecond: excessDatagramRate * 8)
    private var falseReports = TokenBucket(capacity: falseStatements, bitsPerSecond: falseStatementRate * 8)
    private var requestBudget = TokenBucket(capacity: keyframeRequests, bitsPerSecond: keyframeRequestRate * 8)
    private var requestedSince: MediaTime?
    private var requested = 0
    private var sent = 0

    /// Counts an authentic datagram.
    mutating func datagramCame(now: MediaTime) -> Verdict {
        if datagrams.take(1, now: now) == nil { return .accept }
        guard excess.take(1, now: now) == nil else { return .evict(reason: "it sent far too many datagrams") }
        return .ignore
    }

    /// Counts reports that can't be true: of parts that were never sent.
    mutating func stated(falseReports count: Int, now: MediaTime) -> Verdict {
        guard count > 0 else { return .accept }
        for _ in 0..<min(count, 100) where falseReports.take(1, now: now) != nil {
            return .evict(reason: "it acknowledged datagrams that were never sent")
        }
        return .accept
    }

    /// Counts a keyframe request.
    mutating func keyframeRequested(now: MediaTime) -> Verdict {
        requestBudget.take(1, now: now) == nil ? .accept : .evict(reason: "it sent too many keyframe requests")
    }

    /// Counts parts sent for the first time.
    mutating func partsSent(_ count: Int, now: MediaTime) {
        begin(now)
        sent += count
    }

    /// Counts parts requested again. `loss`: the share of losses that the viewer has reported lately.
    mutating func partsRequested(_ count: Int, loss: Double = 0, now: MediaTime) -> Verdict {
        begin(now)
        requested += min(count, Self.fewRequested)
        let ratio = Self.mostRequestedRatio / (1 - min(max(0, loss), Self.mostLoss))
        guard requested > Self.fewRequested, Double(requested) > Double(sent) * ratio else { return .accept }
        return .evict(reason: "it requested too many retransmissions")
    }

    private mutating func begin(_ now: MediaTime) {
        if let requestedSince, now - requestedSince <= Self.requestedMemory { return }
        requestedSince = now
        requested /= 2
        sent /= 2
    }
}
