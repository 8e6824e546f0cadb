/// How much of the rate `QuantiserControl` may use at once.
struct RateRegime: Equatable {
    /// The bucket's size in seconds of the rate.
    var bufferSeconds: Double
    /// A keyframe's bound, in seconds of the rate.
    var keyframeSeconds: Double
    /// The share of the free room that new content may use.
    var noveltyShare: Double
    /// A refinement's bound, in seconds of the rate.
    var refinementSeconds: Double
    /// The share of the free room that a change may use: `least` up to `from` seconds after the last change, rising by
    /// `slope` a second to `most`.
    private var shares: (least: Double, most: Double, slope: Double, from: Double)

    static func == (a: RateRegime, b: RateRegime) -> Bool { a.bufferSeconds == b.bufferSeconds }

    /// The options limit the rate, and the network carries more: bursts are sent at once.
    static let optionBound = RateRegime(
        bufferSeconds: 0.5, keyframeSeconds: 0.3, noveltyShare: 0.35, refinementSeconds: 0.25,
        shares: (least: 0.06, most: 0.5, slope: 3, from: 0.02))

    /// The path limits the rate: every burst delays what follows it.
    static let pathBound = RateRegime(
        bufferSeconds: 0.1, keyframeSeconds: 0.22, noveltyShare: 0.8, refinementSeconds: 0.045,
        shares: (least: 0.25, most: 0.8, slope: 12, from: 0.0167))

    /// A larger share after a rest; a smaller one in steady motion, so that the rate settles.
    func share(after passed: Double) -> Double {
        min(shares.most, max(shares.least, shares.least + (passed - shares.from) * shares.slope))
    }
}
