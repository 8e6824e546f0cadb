import BeamMedia

/// Which layer suits a viewer, and when one that was moved to the reduced layer may come back.
///
/// Sums of time, not times since when something has been so: a viewer that is quick for a moment now and then, whatever its rhythm,
/// doesn't begin anew.
struct LayerHysteresis: Sendable {
    /// Whoever is far slower than the layer for so long in all has to leave it. Half of the time that it isn't counts against that.
    private static let mostSlow = Duration.seconds(1)
    /// How long a viewer has to be fast enough before it comes back; twice as long for each time that it came back in vain.
    private static let firstReturn = Duration.seconds(4)
    private static let mostReturns = 7
    /// Whoever has stayed in its layer for so long hasn't come back in vain.
    private static let lasting = Duration.seconds(300)

    private var isSlow = false
    private var slow = Duration.zero
    private var slowAt: MediaTime?
    private var fastSince: MediaTime?
    private var returns = 0
    private var returnedAt: MediaTime?
    /// It was moved out of the full layer.
    private(set) var isReduced = false

    /// It is far slower than its layer from now on, or isn't. True when it has to leave.
    mutating func isFarSlower(_ isSlow: Bool, now: MediaTime) -> Bool {
        let passed = max(.zero, slowAt.map { now - $0 } ?? .zero)
        slow = max(.zero, self.isSlow ? slow + passed : slow - passed / 2)
        self.isSlow = isSlow
        slowAt = now
        return slow >= Self.mostSlow
    }

    /// It is out, and its path is (not) fast enough for the full layer. True when it may come back.
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
        if let returnedAt { returns = now - returnedAt > Self.lasting ? 0 : returns + 1 }
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
        slow = .zero
        slowAt = nil
        fastSince = nil
    }
}
