import BeamMedia
import Foundation

/// Chooses each frame's quantiser (QP, 0…51; +6 doubles the step): constant quality while the bit rate allows it; else
/// within the rate over half a second, or over a tenth of a second if the path limits the rate.
///
/// The rate is a leaky bucket: it fills with each frame's bits and drains at the bit rate, and never holds more than a
/// number of seconds' worth, as far as frame sizes can be predicted. A frame may use a share of the free room, so that
/// a burst is sent at once and a steady stream settles at the rate, at any frame rate. A frame's bits are predicted
/// from the bits for each changed macroblock of the last frames of its kind, and their quantisers.
struct QuantiserControl {
    /// Visually lossless (luma at 48 dB and more): no lower quantiser is used.
    static let best = 12
    /// The lowest quantiser for large changes (luma at 47 dB and more); they are refined at rest.
    static let good = 20
    /// Text looks good with the first, and is legible with the second.
    private static let (fair, legible) = (28, 38)
    static let worst = 51
    /// Factor on the predicted bits of a path-bound stream's first keyframe, whose content may take more than the
    /// usual.
    private static let unknownContentFactor = 1.7
    /// The time without a change, in seconds, that counts as rest.
    private static let restSeconds = 0.5

    /// Bits a second.
    private(set) var bitRate: Int
    private(set) var regime = RateRegime.optionBound

    private let frameInterval: Double
    private let total: Int
    /// Bits in the bucket at `lastTime`.
    private var level = 0.0
    private var lastTime: MediaTime?
    private var lastChangeTime: MediaTime?
    private var lastChanged = 0
    /// Seconds between changes, a moving average.
    private var interval: Double
    /// The last change was coded at this rate, so its quantiser is a guide for the next one's.
    private var isSettled = false
    /// When libx264 last analysed the whole picture.
    private var lastLowered: MediaTime?

    private var keyframes: BitCost
    /// `keyframes` was measured in this stream.
    private var hasKeyframeCost = false
    private var smallChanges: BitCost?
    private var largeChanges: BitCost?
    /// Actual over predicted bits of refinements.
    private var refinementFactor = 1.0
    /// Actual over predicted bits of partial refinements.
    private var residualFactor = 1.0
    private var current: Kind?

    private enum Kind {
        case keyframe(quantiser: Int)
        case change(macroblocks: Int, quantiser: Int)
        case refinement(expected: Double)
        case partialRefinement(expected: Double)
    }

    init(bitRate: Int, frameRate: Double, macroblocks: Int) {
        self.bitRate = bitRate
        frameInterval = 1 / frameRate
        interval = Self.restSeconds
        total = macroblocks
        // Before the first keyframe: somewhat more than a desktop full of text takes.
        keyframes = BitCost(bits: 280, quantiser: 24)
    }

    /// The bits of a macroblock at a quantiser.
    private struct BitCost {
        var bits: Double
        var quantiser: Int

        /// The bits at another quantiser, on the safe side: at high rates six steps up save less than half of the bits,
        /// and six steps down at low rates cost more than double.
        func bits(at other: Int) -> Double {
            let steps = Double(quantiser - other) / 6
            return bits * exp2(steps > 0 ? steps : steps / 2)
        }

        /// The geometric mean of this and the earlier prediction: a frame after a coarse one takes more than its kind,
        /// one after a fine one less, and one in which motion changes direction says little about the next.
        func blended(with earlier: BitCost?) -> BitCost {
            guard let foreseen = earlier?.bits(at: quantiser) else { return self }
            return BitCost(bits: (bits * foreseen).squareRoot(), quantiser: quantiser)
        }
    }

    /// Sets the rate from the next frame on. The bucket stays as full as it was. If the rate falls much during motion,
    /// it is filled as if that motion had been coded at the new rate, so that the next frame keeps to it.
    mutating func setRate(_ bitRate: Int, regime: RateRegime) {
        guard bitRate != self.bitRate || regime != self.regime else { return }
        let ratio = Double(bitRate) / Double(self.bitRate)
        let isAnother = regime != self.regime
        self.bitRate = bitRate
        self.regime = regime
        level = min(level * ratio, isAnother ? bits(regime.bufferSeconds) : .infinity)
        // Small changes of the estimate must not make the quantiser jump.
        guard isAnother || !(0.85...1.2).contains(ratio) else { return }
        isSettled = false
        guard ratio < 1 else { return }
        level = max(level, bits(regime.bufferSeconds - interval / regime.share(after: interval)))
    }

    /// Bits of the rate in `seconds`.
    private func bits(_ seconds: Double) -> Double { Double(bitRate) * seconds }

    private var room: Double { max(0, bits(regime.bufferSeconds) - level) }

    /// Drains the bucket up to `time`.
    private mutating func advance(to time: MediaTime) {
        let passed = lastTime.map { max(0, (time - $0).inSeconds) } ?? Self.restSeconds
        lastTime = max(lastTime ?? time, time)
        level = max(0, level - passed * Double(bitRate))
    }

    /// The lowest quantiser in `range` whose predicted bits are at most `bits`.
    private func first(in range: ClosedRange<Int>, within bits: Double, _ expected: (Int) -> Double) -> Int {
        range.first { expected($0) <= bits } ?? range.upperBound
    }

    /// A keyframe's bound in bits. One soon after another gets less, but at least half of a path-bound keyframe's usual
    /// bound.
    private var keyframeBound: Double {
        regime == .optionBound
            ? room * 0.6 : max(bits(regime.keyframeSeconds) - level, bits(regime.keyframeSeconds) / 2)
    }

    mutating func keyframe(at time: MediaTime) -> Int {
        advance(to: time)
        let factor = hasKeyframeCost || regime == .optionBound ? 1 : Self.unknownContentFactor
        let quantiser = first(in: Self.good...Self.worst, within: keyframeBound) {
            keyframes.bits(at: $0) * Double(total) * factor
        }
        current = .keyframe(quantiser: quantiser)
        lastLowered = time
        lastChangeTime = time
        lastChanged = total
        return quantiser
    }

    /// A change's quantiser.
    ///
    /// - Parameters:
    ///   - changed: The number of macroblocks that the damage touches.
    ///   - lastQuantiser: The last frame's. A lower one makes libx264 analyse the whole picture.
    ///   - isDisposable: Nothing will refer to the frame, so it improves nothing that hasn't changed.
    ///   - isSeen: Those who get the frame see its changes already, exactly. Its quality is enough for a viewer that has
    ///     missed them, and it improves nothing else that is legible.
    ///   - histogram: The number of macroblocks of each quality.
    mutating func change(
        of changed: Int, at time: MediaTime, lastQuantiser: Int, isDisposable: Bool = false, isSeen: Bool = false,
        histogram: () -> [Int]
    ) -> Int {
        advance(to: time)
        let passed = lastChangeTime.map { max(0, (time - $0).inSeconds) } ?? Self.restSeconds
        let isLarge = changed * 2 >= total
        let isNovel = passed > 0.2 || changed >= 2 * lastChanged
        let expected = expectation(of: changed, isNovel: isNovel)
        lastChangeTime = time
        lastChanged = changed
        interval += (min(passed, Self.restSeconds) - interval) / 2
        // Even with a full bucket frames may use half of the rate.
        let least = bits(min(passed, 0.1) / 2)
        let share = regime.share(after: passed)
        let allowed = max(least, room * (isNovel ? max(regime.noveltyShare, share) : share))
        let best = isSeen ? min(max(Self.fair, lastQuantiser), Self.legible) : Self.best
        let cheap = bits(0.5 * min(0.04, max(passed, frameInterval)))
        var quantiser = min(
            first(in: best...Self.worst, within: cheap, expected),
            first(in: max(best, Self.good)...Self.worst, within: allowed, expected))
        if isSettled, passed < 0.1, !isNovel {
            // Each step down makes libx264 improve the whole picture, so a quantiser that alternates costs more than it
            // gains: take small steps, and none down without need. The bucket absorbs the difference.
            let reserve = quantiser <= Self.good ? 0 : 2
            let steady = quantiser > lastQuantiser ? lastQuantiser + 1 : max(quantiser + reserve, lastQuantiser - 1)
            let affordable = first(in: best...Self.worst, within: max(least, room * max(0.4, share)), expected)
            quantiser = max(affordable, min(steady, max(lastQuantiser, quantiser)))
        }
        isSettled = !isSeen
        if quantiser < lastQuantiser {
            if isLarge {
                lastLowered = time
            } else if isDisposable {
                quantiser = lastQuantiser
            } else if let lastLowered, (time - lastLowered).inSeconds < 0.3 {
                // Too soon to analyse the whole picture again: encoding time matters more.
                quantiser = lastQuantiser
            } else {
                lastLowered = time
                let rest = histogram()
                quantiser = first(in: quantiser...lastQuantiser, within: allowed) {
                    expected($0) + refinementBits(rest, to: $0)
                }
            }
        }
        current = .change(macroblocks: changed, quantiser: quantiser)
        return quantiser
    }

    private func expectation(of changed: Int, isNovel: Bool) -> (Int) -> Double {
        let known = changed * 8 >= total ? largeChanges ?? smallChanges : smallChanges ?? largeChanges
        let (unknown, count) = (keyframes, Double(max(1, changed)))
        // Without measurements: motion takes a part of what new content does.
        guard let known else { return { unknown.bits(at: $0) * (isNovel ? 0.7 : 0.25) * count } }
        guard isNovel else { return { known.bits(at: $0) * count } }
        return { max(known.bits(at: $0), unknown.bits(at: $0) * 0.7) * count }
    }

    /// Whether there is room for a frame of about `bits` bits that shows nothing new.
    mutating func hasRoom(bits: Int, at time: MediaTime) -> Bool {
        advance(to: time)
        current = nil
        // An empty bucket gives as much room as there will ever be.
        return Double(bits) <= room || level == 0
    }

    /// The quantiser for a refinement of the whole picture; nil if there is no room for one at this time.
    mutating func refinement(of histogram: [Int], budget: Int?, at time: MediaTime) -> Int? {
        advance(to: time)
        guard let coarsest = histogram.lastIndex(where: { $0 > 0 }), coarsest > Self.best else { return nil }
        let bound = min(budget.map(Double.init) ?? .infinity, room * 0.5, bits(regime.refinementSeconds))
        var quantiser = coarsest
        while quantiser > Self.best, refinementBits(histogram, to: quantiser - 1) <= bound { quantiser -= 1 }
        if quantiser == coarsest {
            // An empty bucket gives as much room as there will ever be.
            guard budget == nil, level == 0 else { return nil }
            quantiser -= 1
        }
        current = .refinement(expected: refinementBits(histogram, to: quantiser) / refinementFactor)
        lastLowered = time
        return quantiser
    }

    /// The quantisers of partial refinements, where the path carries too little for the whole picture at once: text is
    /// legible at the first, and looks good at the second. Smaller steps would code everything again and again.
    private static let stages = [legible, fair, good, best]

    /// The quantiser of a partial refinement, and its bound in predicted bits; nil if there is no room for one at this
    /// time.
    ///
    /// - Parameter expected: The predicted bits to code all macroblocks coarser than `quantiser`. It need not count
    ///   beyond `bound`.
    mutating func partialRefinement(
        from coarsest: Int, budget: Int?, at time: MediaTime, expected: (_ quantiser: Int, _ bound: Double) -> Double
    ) -> (quantiser: Int, bound: Double)? {
        advance(to: time)
        let usual = min(budget.map(Double.init) ?? .infinity, bits(regime.refinementSeconds))
        let bound = min(usual, room * 0.5)
        // Wait if the part would be small only for lack of room.
        guard let first = Self.stages.first(where: { $0 < coarsest }), bound * 2 >= usual || level == 0 else {
            return nil
        }
        let bitBound = bound / residualFactor
        let whole = Self.stages.last { $0 < coarsest && expected($0, bitBound) <= bitBound }
        return (whole ?? first, bitBound)
    }

    /// Notes the predicted bits of the refinement that is coded next.
    mutating func planPartialRefinement(expected: Double) { current = .partialRefinement(expected: expected) }

    /// The predicted bits to bring all macroblocks to `quantiser`: half of coding them anew, or less for a small step.
    private func refinementBits(_ histogram: [Int], to quantiser: Int) -> Double {
        var macroblocks = 0.0
        for (quality, count) in histogram.enumerated().dropFirst(quantiser + 1) {
            macroblocks += Double(count) * min(1, Double(quality - quantiser) / 6)
        }
        return macroblocks * keyframes.bits(at: quantiser) / 2 * refinementFactor
    }

    /// Whether the frame that was just coded is far too large for the path and must be replaced by a keyframe, whose
    /// quantiser is chosen with the measured bits. Happens when a simple screen suddenly shows something complex.
    mutating func shouldRecode(bits: Int, quantiser: Int) -> Bool {
        guard regime == .pathBound, quantiser < Self.worst,
            Double(bits) > self.bits(regime.keyframeSeconds) * Self.recodingFactor
        else { return false }
        keyframes = BitCost(bits: Double(bits) / Double(total), quantiser: quantiser)
        hasKeyframeCost = true
        return true
    }

    /// A frame larger than a keyframe's bound by this factor is recoded.
    private static let recodingFactor = 1.5

    /// Takes in the bits of the frame that was just coded.
    mutating func coded(bits: Int) {
        let bits = Double(bits)
        level += bits
        switch current {
        case .keyframe(let quantiser):
            keyframes = BitCost(bits: bits / Double(total), quantiser: quantiser)
            hasKeyframeCost = true
        case .change(let macroblocks, let quantiser):
            let cost = BitCost(bits: bits / Double(max(1, macroblocks)), quantiser: quantiser)
            if macroblocks * 8 >= total {
                largeChanges = cost.blended(with: largeChanges)
            } else {
                smallChanges = cost.blended(with: smallChanges)
            }
        case .refinement(let expected) where expected > 0:
            refinementFactor = min(4, max(0.1, (refinementFactor + bits / expected) / 2))
        case .partialRefinement(let expected) where expected > 0:
            let factor = min(4, max(0.5, bits / expected))
            // Rises at once, because a frame that is too large delays the next ones; falls slowly.
            residualFactor = factor > residualFactor ? factor : (residualFactor + factor) / 2
        case .refinement, .partialRefinement, nil: break
        }
        current = nil
    }
}
