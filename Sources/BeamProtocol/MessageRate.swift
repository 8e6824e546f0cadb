import BeamMedia

/// How many messages, or lines, one control connection may bring: far more than an honest peer has to say.
struct MessageRate: Sendable {
    /// Messages a second in the long run, and at once.
    static let perSecond = 100
    static let burst = 200

    private var bucket = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.perSecond * 8)

    /// One more has come. False if that is too many.
    mutating func admits(now: MediaTime) -> Bool { bucket.take(1, now: now) == nil }

    static let reason = "it sent more than \(perSecond) messages a second"
}
