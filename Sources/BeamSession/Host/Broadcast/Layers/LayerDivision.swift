/// Divides viewers among the simulcast layers so that all of them are served best. A pure value.
///
/// What a viewer has of a rate is its logarithm, so the last megabit of one is worth less than the first of another, and
/// one slow viewer isn't worth that many others get less. Paths are sorted by what they carry, and each place to divide
/// them is tried: those above get the full layer, those below the reduced one, each at the rate that `LayerRate` chooses.
struct LayerDivision: Hashable, Sendable {
    struct Viewer: Hashable, Sendable {
        /// Bits a second of frames that its path carries; viewers behind a shared bottleneck have their share of that.
        var rate: Double
        /// It can't change its layer: because of its decoder, its version or the size in which it shows the picture.
        var fixed: Int?
    }

    /// Each viewer's layer, in the order of the viewers.
    let layers: [Int]
    /// The sum of what all viewers have of it.
    let utility: Double

    /// A rate from which on more is hardly worth less than in proportion: that of a small picture now and then.
    private static let least = 100e3
    /// A second layer takes the host's time. It has to be worth this much.
    private static let costOfLayer = 0.3

    /// The best assignment for these viewers; `limit`: the options' bits a second.
    init(best viewers: [Viewer], limit: Double) {
        let order = viewers.indices.filter { viewers[$0].fixed == nil }.sorted {
            (viewers[$0].rate, $1) > (viewers[$1].rate, $0)
        }
        var best = Self(viewers, reduced: [], limit: limit)
        for place in order.indices where place == 0 || viewers[order[place]].rate < viewers[order[place - 1]].rate {
            let divided = Self(viewers, reduced: Set(order[place...]), limit: limit)
            if divided.utility > best.utility { best = divided }
        }
        self = best
    }

    private init(_ viewers: [Viewer], reduced: Set<Int>, limit: Double) {
        let layers = viewers.indices.map {
            viewers[$0].fixed ?? (reduced.contains($0) ? SimulcastLayer.reduced : SimulcastLayer.full)
        }
        var (sum, scratch) = (0.0, [Int]())
        for layer in 0..<SimulcastLayer.count {
            let own = viewers.indices.filter { layers[$0] == layer }
            guard !own.isEmpty else { continue }
            let paths = own.map { index -> LayerRate.Path in
                viewers[index].rate >= limit ? .unbound : .bound(Int(clamping: viewers[index].rate))
            }
            let rate =
                LayerRate.choose(paths, isReduced: layer == SimulcastLayer.reduced, scratch: &scratch)
                .map(Double.init) ?? limit
            for index in own { sum += Self.logarithm(1 + Self.worth(of: rate, over: viewers[index].rate) / Self.least) }
            if layer == SimulcastLayer.reduced { sum -= Self.costOfLayer }
        }
        self.layers = layers
        utility = sum
    }

    /// The natural logarithm of a number of 1 or more, within 1e-7: the core links no mathematics library. ln m is twice
    /// the series of artanh((m - 1) / (m + 1)), which converges quickly for a significand m of 1 to 2.
    static func logarithm(_ number: Double) -> Double {
        let significand = number.significand
        let step = (significand - 1) / (significand + 1)
        var (power, sum) = (step, 0.0)
        for divisor in stride(from: 1.0, through: 13, by: 2) {
            sum += power / divisor
            power *= step * step
        }
        return 2 * sum + Double(number.exponent) * 0.693_147_180_559_945_3
    }

    /// What a viewer gets of a layer of that rate: all of it, half of its frames, or hardly anything.
    private static func worth(of rate: Double, over path: Double) -> Double {
        if path >= LayerRate.comparable * rate { return rate }
        return path >= LayerRate.halfOfFrames * rate ? LayerRate.halfOfFrames * rate : 0.1 * path
    }
}
