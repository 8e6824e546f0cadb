import BeamMedia

/// What one viewer gets of the pointer. A pure value.
struct PointerDelivery: Sendable {
    /// What looks may take, in bits a second, and at once, in bytes: more than the largest one.
    private static let lookRate = 1_000_000
    private static let lookBurst = 80 << 10
    /// The share of a path's rate that looks take where it bounds the rate, and the share that places take.
    private static let lookShare = 0.1
    private static let placeShare = 0.05

    /// The viewer draws the pointer, and this host tells it.
    var isTaken = false
    /// The viewer's requests for looks.
    var requests = RequestPace()
    /// Before this, no place is sent but a repeated one.
    private var nextPlace = MediaTime.zero
    private var looks = TokenBucket(capacity: lookBurst, bitsPerSecond: lookRate)

    /// Takes what a place needs of the path. False: there was one a moment ago, and the path is slow. The last
    /// place of a motion is repeated, and repeats always go.
    ///
    /// - Parameter rate: in bits a second; nil: the path doesn't bound it.
    mutating func payPlace(_ bytes: Int, rate: Int?, isRepeat: Bool, now: MediaTime) -> Bool {
        guard isRepeat || now >= nextPlace else { return false }
        nextPlace =
            rate.map { now + .seconds(clamping: Double(bytes * 8) / max(1, Double($0) * Self.placeShare)) } ?? now
        return true
    }

    /// The same for a look. False: it has to be asked for later.
    mutating func payLook(_ bytes: Int, rate: Int?, now: MediaTime) -> Bool {
        let rate = rate.map { min(Self.lookRate, Int(clamping: Double($0) * Self.lookShare)) } ?? Self.lookRate
        looks.change(capacity: Self.lookBurst, bitsPerSecond: rate, now: now)
        return looks.take(bytes, now: now) == nil
    }
}
