import BeamMedia

/// Keyframes made for one guest while others watch that need none: a burst, then one each 10 s. Each costs everybody some
/// frames' worth of bits. A guest that needs more is better off in the reduced layer.
struct KeyframeBudget: Sendable {
    private let interval: Int
    /// Counts seconds instead of bytes, hence 8 “bits” each.
    private var bucket: TokenBucket

    /// `interval`: seconds.
    init(burst: Int = 3, interval: Int = 10) {
        self.interval = interval
        bucket = TokenBucket(capacity: burst * interval, bitsPerSecond: 8)
    }

    /// Takes a keyframe from the budget. False if it is used up.
    mutating func pay(now: MediaTime) -> Bool { nextPayment(now: now) == nil }

    /// Takes a keyframe from the budget and returns nil; if it is used up, returns when it won't be.
    mutating func nextPayment(now: MediaTime) -> MediaTime? { bucket.take(interval, now: now) }
}
