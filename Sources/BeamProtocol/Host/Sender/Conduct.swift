import BeamMedia

/// What a viewer may say and ask for. Whoever exceeds it is evicted, and both ends are told why.
///
/// Each budget is several times what an honest viewer on a bad network needs; the tests of the simulated networks hold the honest to it.
struct Conduct: Sendable {
    /// What becomes of something that a viewer says.
    enum Verdict: Hashable, Sendable {
        case accept
        /// It is left unread.
        case ignore
        case evict(reason: String)
    }

    /// Feedback datagrams a second that are read. An honest viewer sends a report each 8 ms at most, and requests
    /// between them.
    private static let feedbackRate = 400
    /// Datagrams beyond those: so many at once, and a second.
    private static let excessFeedback = 3000
    private static let excessFeedbackRate = 500
    /// Statements that can't be true: so many at once, and a second. A viewer that restarts may make a few.
    private static let falseStatements = 500
    private static let falseStatementRate = 10
    /// Keyframes that are made because of one viewer while others watch: so many at once, then one each 2 s.
    private static let keyframes = 3
    private static let keyframeInterval = 2
    /// Keyframe requests: so many at once, and a second. An honest viewer repeats its request each 100 ms until a keyframe comes
    /// (`KeyframeRequest.repetition`).
    private static let keyframeRequests = 300
    private static let keyframeRequestRate = 20
    /// Parts that a viewer asks for again, in relation to those sent to it: at 50 % loss, with each duplicate lost as well, 2.
    private static let mostAskedShare = 3
    /// Fewer than these say nothing.
    private static let fewAsked = 20_000
    private static let askedMemory = Duration.seconds(10)
    /// Without any report for so long, though hellos come, nothing arrives or nobody says so.
    static let longestSilence = Duration.seconds(60)

    // The buckets take datagrams for bytes.
    private var feedback = TokenBucket(capacity: 100, bitsPerSecond: feedbackRate * 8)
    private var excess = TokenBucket(capacity: excessFeedback, bitsPerSecond: excessFeedbackRate * 8)
    private var falsehoods = TokenBucket(capacity: falseStatements, bitsPerSecond: falseStatementRate * 8)
    private var keyframeBudget = TokenBucket(capacity: keyframes * keyframeInterval, bitsPerSecond: 8)
    private var requestBudget = TokenBucket(capacity: keyframeRequests, bitsPerSecond: keyframeRequestRate * 8)
    private var askedSince: MediaTime?
    private var asked = 0
    private var sent = 0

    /// A feedback datagram has come.
    mutating func feedbackCame(now: MediaTime) -> Verdict {
        if feedback.take(1, now: now) == nil { return .accept }
        guard excess.take(1, now: now) == nil else { return .evict(reason: "it sent far too many reports") }
        return .ignore
    }

    /// It has said so many things that can't be true: that something arrived which was never sent.
    mutating func stated(falsehoods count: Int, now: MediaTime) -> Verdict {
        guard count > 0 else { return .accept }
        for _ in 0..<min(count, 100) where falsehoods.take(1, now: now) != nil {
            return .evict(reason: "it acknowledged what was never sent")
        }
        return .accept
    }

    /// A keyframe is to be made for it, while others in its layer watch who need none. False if that would be too many.
    mutating func payKeyframe(now: MediaTime) -> Bool {
        keyframeBudget.take(Self.keyframeInterval, now: now) == nil
    }

    /// It has asked for a keyframe.
    mutating func keyframeRequested(now: MediaTime) -> Verdict {
        requestBudget.take(1, now: now) == nil ? .accept : .evict(reason: "it asked for keyframes without end")
    }

    /// Parts have left for it, for the first time.
    mutating func partsSent(_ count: Int, now: MediaTime) {
        begin(now)
        sent += count
    }

    /// It has asked for parts again.
    mutating func partsAsked(_ count: Int, now: MediaTime) -> Verdict {
        begin(now)
        asked += min(count, Self.fewAsked)
        guard asked > Self.fewAsked, asked > sent * Self.mostAskedShare else { return .accept }
        return .evict(reason: "it asked for everything again")
    }

    private mutating func begin(_ now: MediaTime) {
        if let askedSince, now - askedSince <= Self.askedMemory { return }
        askedSince = now
        asked /= 2
        sent /= 2
    }
}
