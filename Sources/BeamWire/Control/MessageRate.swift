import BeamMedia

/// Limits the messages or lines of one control connection to far more than an honest peer sends.
package struct MessageRate: Sendable {
    /// Messages a second, and the most at once.
    package static let perSecond = 100
    package static let burst = 200

    private var bucket = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.perSecond * 8)

    package init() {}

    /// Counts one message. False if that is too many.
    package mutating func admits(now: MediaTime) -> Bool { bucket.take(1, now: now) == nil }

    package static let reason = "it sent more than \(perSecond) messages a second"
}
