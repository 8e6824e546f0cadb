/// How much of the rate a `QuantiserControl` may use at once.
struct RateRegime: Equatable {
    /// What is sent and hasn't flowed off at the rate never exceeds this, in seconds of the rate.
    var bufferSeconds: Double
    /// A keyframe's bound, in seconds of the rate.
    var keyframeSeconds: Double
    /// The share of the room that is left which new content may use.
    var noveltyShare: Double
    /// A refinement's bound, in seconds of the rate.
    var refinementSeconds: Double
    /// The share of the room that a change may use so many seconds after the last one.
    private var shares: (least: Double, most: Double, slope: Double, from: Double)

    static func == (a: RateRegime, b: RateRegime) -> Bool { a.bufferSeconds == b.bufferSeconds }

    /// The rate bounds what the person wants to spend; the network takes more at once: a burst is served, and nobody waits.
    static let generous = RateRegime(
        bufferSeconds: 0.5, keyframeSeconds: 0.3, noveltyShare: 0.35, refinementSeconds: 0.25,
        shares: (least: 0.06, most: 0.5, slope: 3, from: 0.02))

    /// The rate is what the path carries: whatever is sent at once makes everything after it wait.
    static let pathBound = RateRegime(
        bufferSeconds: 0.1, keyframeSeconds: 0.22, noveltyShare: 0.8, refinementSeconds: 0.045,
        shares: (least: 0.25, most: 0.8, slope: 12, from: 0.0167))

    /// After a rest the room is there to be used; in steady motion a smaller share lets the rate settle.
    func share(after passed: Double) -> Double {
        min(shares.most, max(shares.least, shares.least + (passed - shares.from) * shares.slope))
    }
}
