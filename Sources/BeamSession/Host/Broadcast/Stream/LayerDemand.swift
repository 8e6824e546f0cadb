import BeamMedia

/// Combines what a layer's senders need into the demand on its encoder. A pure value.
struct LayerDemand: Sendable {
    /// Smaller relative changes of the rate aren't passed on.
    private static let leastChange = 0.02
    /// Temporal layers stay on for this long after the last viewer was too slow.
    static let temporalTime = Duration.seconds(5)
    /// The factor by which disposable frames increase the bit rate: scrolled text took 1.39 times as many bits.
    private static let temporalCost = 1.4

    let demand: StreamDemand
    /// A viewer's path carries too little for this rate, or the viewer wishes fewer frames than the others.
    let hasSlowViewer: Bool
    /// The share of parity to make: the largest that a viewer needs.
    let parityShare: Double
    /// The rate in bits a second that the paths carry; nil: the options'.
    let pathRate: Int?

    /// - Parameters:
    ///   - senders: of this layer only.
    ///   - use: what the layer's frames take now, in bits a second.
    ///   - isRequested: the encoder was asked for a keyframe.
    ///   - last: the previous demand.
    ///   - isTemporal: the encoder makes disposable frames now.
    ///   - isKept: the layer is recorded: it keeps the options' rate, and isn't held.
    ///   - ceiling: the most bits a second that the machine can send to each viewer; nil: no bound.
    ///   - frameDivisor: for the machine, one of this many frames is enough.
    ///   - scratch: working memory, reused.
    init(
        _ senders: some Sequence<Senders.Contribution>, isReduced: Bool, use: Double, isRequested: Bool,
        last: StreamDemand, isTemporal: Bool, isKept: Bool = false, ceiling: Int? = nil,
        frameDivisor: Int = 1, scratch: inout [Int]
    ) {
        var (isWatched, isExpected, isFree, isAnyStreaming) = (false, false, false, false)
        var (awaiting, followers, parity) = (false, 0, 0.0)
        var (eighths, limit) = (0, StreamDemand.wholeSize)
        // Infinite: somebody wishes all frames.
        var frameRate = 0.0
        var patchTakers: PatchTakers = []
        var (losesPatches, hasOnlyPointerTakers) = (false, true)
        for sender in senders {
            if sender.isWatching || sender.isExpected {
                eighths = max(eighths, min(sender.eighths, sender.limit))
                limit = min(limit, sender.limitForOthers)
                frameRate = max(frameRate, sender.frameRate ?? .infinity)
                patchTakers.formUnion(sender.patchTakers)
                losesPatches = losesPatches || sender.losesPatches
                hasOnlyPointerTakers = hasOnlyPointerTakers && sender.takesPointer
            }
            isWatched = isWatched || sender.isWatching
            isExpected = isExpected || sender.isExpected
            guard sender.isReachable else { continue }
            parity = max(parity, sender.parityShare)
            if sender.reports { followers += 1 }
            if sender.isStreaming { isAnyStreaming = true }
            guard !sender.isBusy else { continue }
            if sender.isStreaming { isFree = true } else { awaiting = true }
        }
        pathRate =
            isKept
            ? nil
            : LayerRate.choose(
                senders.lazy.filter(\.isReachable).map(\.path), isReduced: isReduced, scratch: &scratch)
        // What is recorded keeps its rate, whatever the viewers cost.
        let rate = [pathRate, isKept ? nil : ceiling].compactMap { $0 }.min()
        // Without temporal layers the same frames would take fewer bits.
        let needed = min(rate.map(Double.init) ?? use, isTemporal ? use / Self.temporalCost : use)
        hasSlowViewer =
            (followers > 1 || isKept)
            && senders.contains { sender in
                guard sender.isReachable else { return false }
                if isReduced, sender.frameRate ?? .infinity < frameRate { return true }
                guard case .bound(let own) = sender.path else { return false }
                return Double(own) < LayerRate.comparable * needed
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
            // The encoder is held while every viewer still has something to be sent: a frame made now would only wait.
            demand.isHeld = !(isKept || isFree || isExpected || (awaiting && (isRequested || !isAnyStreaming)))
            demand.wantsTemporalLayers = isTemporal || hasSlowViewer
            demand.frameDivisor = isKept ? 1 : frameDivisor
            demand.wantsPatches = patchTakers.contains(.exact) && !isReduced
            demand.hasOnlyPatchTakers = patchTakers == .exact && !isReduced && !isKept
            demand.losesPatches = losesPatches && demand.hasOnlyPatchTakers
            demand.hasOnlyPointerTakers = hasOnlyPointerTakers && !isKept
            if isReduced {
                demand.eighths = min(eighths, limit)
                demand.frameRate = frameRate.isFinite ? frameRate : nil
            }
        }
        self.demand = demand
    }
}
