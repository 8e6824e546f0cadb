import BeamMedia

/// Limits the messages or lines of one control connection to far more than an honest peer sends.
struct MessageRate: Sendable {
    /// Messages a second, and the most at once.
    static let perSecond = 100
    static let burst = 200

    private var bucket = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.perSecond * 8)

    /// Counts one message. False if that is too many.
    mutating func admits(now: MediaTime) -> Bool { bucket.take(1, now: now) == nil }

    static let reason = "it sent more than \(perSecond) messages a second"
}
