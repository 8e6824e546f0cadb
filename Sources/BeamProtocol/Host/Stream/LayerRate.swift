/// What a layer's encoder is to make, by what its viewers' paths carry. Pure.
///
/// One viewer's path must not decide what all others see, neither a slow one nor one of which somebody lies.
/// So a layer follows the viewers that can take the most, and who can't follow falls behind alone: it gets half of the frames
/// (temporal layers), or the reduced layer.
enum LayerRate {
    /// What a viewer's path says to the layer.
    enum Path: Hashable, Sendable {
        /// Nothing is known of it yet.
        case unknown
        /// It carries all that is ever made.
        case unbound
        /// It carries so many bits a second of frames.
        case bound(Int)
    }

    /// Paths that carry at least this part of what the best one does count as equal to it: estimates differ by so much
    /// where viewers share one link.
    static let alike = 0.8
    /// Half of the frames take about this part of the bits: those that are referred to are the larger ones.
    static let halfOfFrames = 0.55

    /// Bits a second of frames; nil: as much as the options allow. `scratch` is working memory that is used again.
    static func choose(_ paths: some Sequence<Path>, isReduced: Bool, scratch: inout [Int]) -> Int? {
        scratch.removeAll(keepingCapacity: true)
        var isUnbound = false
        for path in paths {
            switch path {
            case .unknown: break
            case .unbound: isUnbound = true
            case .bound(let rate): scratch.append(rate)
            }
        }
        // In the reduced layer there is no way out for those that are slow.
        guard isReduced || !isUnbound, !scratch.isEmpty else { return nil }
        scratch.sort()
        return isReduced ? reduced(scratch) : full(scratch)
    }

    /// What all but a quarter of those that are like the best can take: a few paths that are said to carry less change nothing.
    private static func full(_ rates: [Int]) -> Int {
        let least = Double(rates[rates.count - 1]) * alike
        let first = rates.firstIndex { Double($0) >= least } ?? 0
        return rates[first + (rates.count - first) / 4]
    }

    /// The slowest, but not less than half of the median: who can't take that gets half of the frames, or keyframes.
    private static func reduced(_ rates: [Int]) -> Int {
        max(rates[0], rates[rates.count / 2] / 2)
    }
}
