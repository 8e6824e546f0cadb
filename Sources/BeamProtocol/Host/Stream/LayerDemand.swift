import BeamMedia

/// What a layer's encoder is to make, from what the layer's senders say. Pure.
struct LayerDemand: Sendable {
    /// A change of rate that is less than this part of it isn't worth telling.
    private static let leastChange = 0.02
    /// Temporal layers stay on for so long after the last one that couldn't follow.
    static let temporalTime = Duration.seconds(5)
    /// So many times the bits are needed while every other frame is one that nothing refers to: scrolled text took 1.39 times as many.
    private static let temporalCost = 1.4

    let demand: StreamDemand
    /// Somebody can't follow at that rate.
    let hasSlowViewer: Bool
    /// The parity that is to be made.
    let parityShare: Double

    /// - Parameters:
    ///   - senders: of this layer only.
    ///   - use: what the layer's frames take of a path now, in bits a second.
    ///   - isRequested: a keyframe is about to come.
    ///   - scratch: working memory that is used again.
    init(
        _ senders: some Sequence<Senders.Contribution>, isReduced: Bool, use: Double, isRequested: Bool,
        last: StreamDemand, isTemporal: Bool, scratch: inout [Int]
    ) {
        var (isWatched, isExpected, isFree, isAnyStreaming) = (false, false, false, false)
        var (awaiting, followers, parity) = (false, 0, 0.0)
        for sender in senders {
            isWatched = isWatched || sender.isWatching
            isExpected = isExpected || sender.isExpected
            guard sender.isReachable else { continue }
            parity = max(parity, sender.parityShare)
            if sender.reports { followers += 1 }
            if sender.isStreaming { isAnyStreaming = true }
            guard !sender.isBusy else { continue }
            if sender.isStreaming { isFree = true } else { awaiting = true }
        }
        let rate = LayerRate.choose(
            senders.lazy.filter(\.isReachable).map(\.path), isReduced: isReduced, scratch: &scratch)
        // Temporal layers cost bits themselves.
        let needed = min(rate.map(Double.init) ?? use, isTemporal ? use / Self.temporalCost : use)
        hasSlowViewer =
            followers > 1
            && senders.contains { sender in
                guard sender.isReachable, case .bound(let own) = sender.path else { return false }
                return Double(own) < LayerRate.alike * needed
            }
        parityShare = parity
        var demand = StreamDemand(isWatched: isWatched || isExpected)
        if demand.isWatched {
            demand.bitRate = rate.map { rate in
                guard let last = last.bitRate, abs(Double(rate - last)) < Self.leastChange * Double(last) else {
                    return rate
                }
                return last
            }
            // The encoder waits while every viewer still has something to be sent: what it made now would only grow old.
            demand.isHeld = !(isFree || isExpected || (awaiting && (isRequested || !isAnyStreaming)))
            demand.wantsTemporalLayers = isTemporal || hasSlowViewer
        }
        self.demand = demand
    }
}
