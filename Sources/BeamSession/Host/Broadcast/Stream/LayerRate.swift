/// Chooses a layer's bit rate from the bandwidth of its viewers' paths. Pure.
///
/// One viewer's path must not decide what all others see, whether it is slow or its viewer reports falsely. So a layer
/// follows the viewers with the most bandwidth. A slower viewer gets half of the frames (temporal layers), or the
/// reduced layer.
enum LayerRate {
    /// What is known of a viewer's path.
    enum Path: Hashable, Sendable {
        /// There is no report yet.
        case unknown
        /// It carries the full rate of the options.
        case unbound
        /// It carries this many bits a second of frames.
        case bound(Int)
    }

    /// Paths that carry at least this share of the best one count as equal to it: estimates of viewers on one link
    /// differ by about as much.
    static let comparable = 0.8
    /// Half of the frames take about this share of the bits, because reference frames are larger than disposable ones.
    static let halfOfFrames = 0.55

    /// The layer's rate in bits a second of frames; nil: the options' rate. `scratch` is working memory, reused.
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
        // Viewers of the reduced layer can't move to a slower one, so there a bounded path counts although others are
        // unbounded.
        guard isReduced || !isUnbound, !scratch.isEmpty else { return nil }
        scratch.sort()
        return isReduced ? reduced(scratch) : full(scratch)
    }

    /// Of the paths equal to the best, the rate that all but a quarter can carry, so that a few low estimates change
    /// nothing.
    private static func full(_ rates: [Int]) -> Int {
        let least = Double(rates[rates.count - 1]) * comparable
        let first = rates.firstIndex { Double($0) >= least } ?? 0
        return rates[first + (rates.count - first) / 4]
    }

    /// The slowest path's rate, but at least half of the median. A viewer slower than that gets half of the frames, or
    /// only keyframes.
    private static func reduced(_ rates: [Int]) -> Int {
        max(rates[0], rates[rates.count / 2] / 2)
    }
}
