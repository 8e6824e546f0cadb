import BeamMedia

/// Keyframes made for one guest while others watch that need none: a burst, then one each 10 s. Each costs everybody some
/// frames' worth of bits. A guest that needs more is better off in the reduced layer.
struct KeyframeBudget: Sendable {
    private static let burst = 3
    private static let interval = 10

    /// Counts seconds instead of bytes, hence 8 “bits” each.
    private var bucket = TokenBucket(capacity: burst * interval, bitsPerSecond: 8)

    /// Takes a keyframe from the budget. False if it is used up.
    mutating func pay(now: MediaTime) -> Bool { bucket.take(Self.interval, now: now) == nil }
}
