import BeamMedia

/// Decides when a viewer moves to the reduced layer, and when it may return.
///
/// It sums up the time for which a path was too slow, instead of starting anew at each change: so a path that is fast
/// for a moment now and then, in whatever rhythm, is still recognised as slow.
struct LayerHysteresis: Sendable {
    /// A viewer leaves the layer after its path was far too slow for this long in all. Half of the time for which it
    /// wasn't is subtracted.
    private static let slowTimeLimit = Duration.seconds(1)
    /// How long a path has to be fast enough before the viewer returns. Doubled for each return that didn't last, at
    /// most seven times.
    private static let firstReturn = Duration.seconds(4)
    private static let mostReturns = 7
    /// A return lasted if the viewer stayed for longer than this.
    private static let lastingReturn = Duration.seconds(300)

    private var isSlow = false
    private var slowTime = Duration.zero
    private var slowAt: MediaTime?
    private var fastSince: MediaTime?
    private var returns = 0
    private var returnedAt: MediaTime?
    /// The viewer was moved to the reduced layer.
    private(set) var isReduced = false

    /// The path is far too slow for the layer from now on, or isn't. True if the viewer has to leave the layer.
    mutating func isFarSlower(_ isSlow: Bool, now: MediaTime) -> Bool {
        let passed = max(.zero, slowAt.map { now - $0 } ?? .zero)
        slowTime = max(.zero, self.isSlow ? slowTime + passed : slowTime - passed / 2)
        self.isSlow = isSlow
        slowAt = now
        return slowTime >= Self.slowTimeLimit
    }

    /// For a viewer in the reduced layer: its path is fast enough for the full layer now, or isn't. True if it may
    /// return.
    mutating func isFastEnough(_ isFast: Bool, now: MediaTime) -> Bool {
        guard isFast else {
            fastSince = nil
            return false
        }
        let since = fastSince ?? now
        fastSince = since
        return now - since >= Self.firstReturn * (1 << min(returns, Self.mostReturns))
    }

    mutating func left(now: MediaTime) {
        if let returnedAt { returns = now - returnedAt > Self.lastingReturn ? 0 : returns + 1 }
        restart()
        isReduced = true
    }

    mutating func cameBack(now: MediaTime) {
        returnedAt = now
        restart()
        isReduced = false
    }

    private mutating func restart() {
        isSlow = false
        slowTime = .zero
        slowAt = nil
        fastSince = nil
    }
}
