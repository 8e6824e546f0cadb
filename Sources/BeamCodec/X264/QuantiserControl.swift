import BeamMedia
import Foundation

/// Chooses each frame's quantiser (H.264's QP, 0…51; six more double the step): a constant quality as long as the bit rate allows
/// it, within the rate over half a second otherwise, or over a tenth of a second where the rate is what the path carries.
///
/// The rate is a leaky bucket: what was sent flows off at the bit rate, and what is in it never exceeds so many seconds' worth
/// as far as a frame's size can be foreseen. A frame may use a share of the room that is left, so that a burst is served at once
/// and a steady stream settles at the rate, at any number of pictures a second. How many bits a frame takes is told from what
/// the last ones of its kind took for each changed macroblock, and their quantiser.
struct QuantiserControl {
    /// Visually lossless (luma at 48 dB and more): nothing is coded better than this.
    static let best = 12
    /// What changes much is coded this well (luma at 47 dB and more), and made better when it has come to rest.
    static let good = 20
    static let worst = 51
    /// Where nothing is known of the pictures yet and the path bears no surprise, they may take so many times what is usual.
    private static let caution = 1.7
    /// What counts as a rest, in seconds.
    private static let restSeconds = 0.5

    /// Bits a second.
    private(set) var bitRate: Int
    private(set) var regime = RateRegime.generous

    private let frameInterval: Double
    private let total: Int
    /// Bits in the bucket, at `lastTime`.
    private var level = 0.0
    private var lastTime: MediaTime?
    private var lastChangeTime: MediaTime?
    private var lastChanged = 0
    /// Seconds from change to change, lately.
    private var interval: Double
    /// The last change was coded at this rate, so that its quantiser says something about the next one's.
    private var isSettled = false
    /// When the library last looked at everything.
    private var lastLowered: MediaTime?

    private var keyframes: Experience
    /// `keyframes` is of this stream.
    private var hasExperience = false
    private var smallChanges: Experience?
    private var largeChanges: Experience?
    /// What refinements took, against what was expected.
    private var refinementFactor = 1.0
    /// What parts took, against what their residual said.
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
        // Somewhat more than a desktop full of text.
        keyframes = Experience(bits: 280, quantiser: 24)
    }

    /// What a macroblock took.
    private struct Experience {
        var bits: Double
        var quantiser: Int

        /// What it may take with another quantiser, on the safe side: at high rates six steps save less than half of the bits,
        /// and at low rates they cost more.
        func bits(at other: Int) -> Double {
            let steps = Double(quantiser - other) / 6
            return bits * exp2(steps > 0 ? steps : steps / 2)
        }

        /// Between this and what an earlier one foresaw: a frame after a coarse one takes more than its kind, one after a fine
        /// one less, and one in which the motion turned says little about the next.
        func blended(with earlier: Experience?) -> Experience {
            guard let foreseen = earlier?.bits(at: quantiser) else { return self }
            return Experience(bits: (bits * foreseen).squareRoot(), quantiser: quantiser)
        }
    }

    /// Another rate, from the next frame on. The bucket stays as full as it was, or, when the rate falls in the midst of motion,
    /// as full as it would be had that motion gone on at the new rate: the next frame keeps to it.
    mutating func setRate(_ bitRate: Int, regime: RateRegime) {
        guard bitRate != self.bitRate || regime != self.regime else { return }
        let ratio = Double(bitRate) / Double(self.bitRate)
        let isAnother = regime != self.regime
        self.bitRate = bitRate
        self.regime = regime
        level = min(level * ratio, isAnother ? bits(regime.bufferSeconds) : .infinity)
        // An estimate that wavers is no reason to let the quantiser jump.
        guard isAnother || !(0.85...1.2).contains(ratio) else { return }
        isSettled = false
        guard ratio < 1 else { return }
        level = max(level, bits(regime.bufferSeconds - interval / regime.share(after: interval)))
    }

    /// What so many seconds of the rate carry.
    private func bits(_ seconds: Double) -> Double { Double(bitRate) * seconds }

    private var room: Double { max(0, bits(regime.bufferSeconds) - level) }

    /// Lets flow off what has by `time`; returns the seconds passed.
    private mutating func advance(to time: MediaTime) {
        let passed = lastTime.map { max(0, (time - $0).inSeconds) } ?? Self.restSeconds
        lastTime = max(lastTime ?? time, time)
        level = max(0, level - passed * Double(bitRate))
    }

    /// The first quantiser in `range` with which a frame is expected to take at most `bits`.
    private func first(in range: ClosedRange<Int>, within bits: Double, _ expected: (Int) -> Double) -> Int {
        range.first { expected($0) <= bits } ?? range.upperBound
    }

    /// A keyframe that follows another one soon is no larger for that than it has to be, and no smaller than can be looked at.
    private var keyframeBound: Double {
        regime == .generous ? room * 0.6 : max(bits(regime.keyframeSeconds) - level, bits(regime.keyframeSeconds) / 2)
    }

    mutating func keyframe(at time: MediaTime) -> Int {
        advance(to: time)
        let caution = hasExperience || regime == .generous ? 1 : Self.caution
        let quantiser = first(in: Self.good...Self.worst, within: keyframeBound) {
            keyframes.bits(at: $0) * Double(total) * caution
        }
        current = .keyframe(quantiser: quantiser)
        lastLowered = time
        lastChangeTime = time
        lastChanged = total
        return quantiser
    }

    /// - Parameters:
    ///   - changed: How many macroblocks the damage touches.
    ///   - lastQuantiser: The last frame's; a smaller one has the library look at the whole picture.
    ///   - isDisposable: Nothing will refer to the frame: it makes nothing better that hasn't changed.
    ///   - histogram: How many macroblocks there are of each quality.
    mutating func change(
        of changed: Int, at time: MediaTime, lastQuantiser: Int, isDisposable: Bool = false, histogram: () -> [Int]
    ) -> Int {
        advance(to: time)
        let passed = lastChangeTime.map { max(0, (time - $0).inSeconds) } ?? Self.restSeconds
        let isLarge = changed * 2 >= total
        let isNovel = passed > 0.2 || changed >= 2 * lastChanged
        let expected = expectation(of: changed, isNovel: isNovel)
        lastChangeTime = time
        lastChanged = changed
        interval += (min(passed, Self.restSeconds) - interval) / 2
        // A full bucket still lets half of the rate through.
        let least = bits(min(passed, 0.1) / 2)
        let share = regime.share(after: passed)
        let allowed = max(least, room * (isNovel ? max(regime.noveltyShare, share) : share))
        let cheap = bits(0.5 * min(0.04, max(passed, frameInterval)))
        var quantiser = min(
            first(in: Self.best...Self.worst, within: cheap, expected),
            first(in: Self.good...Self.worst, within: allowed, expected))
        if isSettled, passed < 0.1, !isNovel {
            // Each step down has the library mend the whole picture, so that quantisers that go up and down by turns take more
            // than they are worth: small steps, none down without need. The bucket bears the rest.
            let reserve = quantiser <= Self.good ? 0 : 2
            let steady = quantiser > lastQuantiser ? lastQuantiser + 1 : max(quantiser + reserve, lastQuantiser - 1)
            let bearable = first(in: Self.best...Self.worst, within: max(least, room * max(0.4, share)), expected)
            quantiser = max(bearable, min(steady, max(lastQuantiser, quantiser)))
        }
        isSettled = true
        if quantiser < lastQuantiser {
            if isLarge {
                lastLowered = time
            } else if isDisposable {
                quantiser = lastQuantiser
            } else if let lastLowered, (time - lastLowered).inSeconds < 0.3 {
                // Now the frame's time counts.
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
        // Motion takes a part of what new content does.
        guard let known else { return { unknown.bits(at: $0) * (isNovel ? 0.7 : 0.25) * count } }
        guard isNovel else { return { known.bits(at: $0) * count } }
        return { max(known.bits(at: $0), unknown.bits(at: $0) * 0.7) * count }
    }

    /// Whether there is room for a frame of about so many bits that shows nothing new.
    mutating func repeats(bits: Int, at time: MediaTime) -> Bool {
        advance(to: time)
        current = nil
        // There will never be more room than with an empty bucket.
        return Double(bits) <= room || level == 0
    }

    /// The quantiser with which to code the picture once more; nil when there is no room for it at this time.
    mutating func refinement(of histogram: [Int], budget: Int?, at time: MediaTime) -> Int? {
        advance(to: time)
        guard let coarsest = histogram.lastIndex(where: { $0 > 0 }), coarsest > Self.best else { return nil }
        let bound = min(budget.map(Double.init) ?? .infinity, room * 0.5, bits(regime.refinementSeconds))
        var quantiser = coarsest
        while quantiser > Self.best, refinementBits(histogram, to: quantiser - 1) <= bound { quantiser -= 1 }
        if quantiser == coarsest {
            // There will never be more room than now.
            guard budget == nil, level == 0 else { return nil }
            quantiser -= 1
        }
        current = .refinement(expected: refinementBits(histogram, to: quantiser) / refinementFactor)
        lastLowered = time
        return quantiser
    }

    /// Where a path carries too little for the whole picture at once, it gets better a part at a time: text can be read at the
    /// first of these, and looks well at the second. Smaller steps would code everything again and again.
    private static let stages = [38, 28, 20, best]

    /// The quantiser with which to code what is coarser once more, and how much of it: as much as takes so many bits, by what the
    /// residual says. Nil when there is no room for it at this time.
    ///
    /// - Parameter expected: How many bits it takes, by what the residual says, to code all that is coarser than a quantiser with
    ///   that; it need not count on beyond the bound.
    mutating func partialRefinement(
        from coarsest: Int, budget: Int?, at time: MediaTime, expected: (_ quantiser: Int, _ bound: Double) -> Double
    ) -> (quantiser: Int, bound: Double)? {
        advance(to: time)
        let usual = min(budget.map(Double.init) ?? .infinity, bits(regime.refinementSeconds))
        let bound = min(usual, room * 0.5)
        // A part that is smaller only because there is little room is better waited for.
        guard let first = Self.stages.first(where: { $0 < coarsest }), bound * 2 >= usual || level == 0 else {
            return nil
        }
        let told = bound / residualFactor
        let whole = Self.stages.last { $0 < coarsest && expected($0, told) <= told }
        return (whole ?? first, told)
    }

    /// The refinement that was planned last takes so many bits by what the residual says.
    mutating func refines(expected: Double) { current = .partialRefinement(expected: expected) }

    /// What bringing all macroblocks to `quantiser` may take: half of what coding them afresh would, or less for a small step.
    private func refinementBits(_ histogram: [Int], to quantiser: Int) -> Double {
        var macroblocks = 0.0
        for (quality, count) in histogram.enumerated().dropFirst(quantiser + 1) {
            macroblocks += Double(count) * min(1, Double(quality - quantiser) / 6)
        }
        return macroblocks * keyframes.bits(at: quantiser) / 2 * refinementFactor
    }

    /// Whether the frame that was coded last, of so many bits, is far more than a path bears at once, so that it isn't to be sent:
    /// a keyframe is, whose quantiser is chosen with what is known now. Happens where a screen that was simple so far shows
    /// something else.
    mutating func takesBack(bits: Int, quantiser: Int) -> Bool {
        guard regime == .pathBound, quantiser < Self.worst,
            Double(bits) > self.bits(regime.keyframeSeconds) * Self.surprise
        else { return false }
        keyframes = Experience(bits: Double(bits) / Double(total), quantiser: quantiser)
        hasExperience = true
        return true
    }

    /// So many times what a keyframe may take is too much.
    private static let surprise = 1.5

    /// What the frame that was planned last took.
    mutating func coded(bits: Int) {
        let bits = Double(bits)
        level += bits
        switch current {
        case .keyframe(let quantiser):
            keyframes = Experience(bits: bits / Double(total), quantiser: quantiser)
            hasExperience = true
        case .change(let macroblocks, let quantiser):
            let experience = Experience(bits: bits / Double(max(1, macroblocks)), quantiser: quantiser)
            if macroblocks * 8 >= total {
                largeChanges = experience.blended(with: largeChanges)
            } else {
                smallChanges = experience.blended(with: smallChanges)
            }
        case .refinement(let expected) where expected > 0:
            refinementFactor = min(4, max(0.1, (refinementFactor + bits / expected) / 2))
        case .partialRefinement(let expected) where expected > 0:
            let factor = min(4, max(0.5, bits / expected))
            // More than foreseen delays what comes next; less doesn't.
            residualFactor = factor > residualFactor ? factor : (residualFactor + factor) / 2
        case .refinement, .partialRefinement, nil: break
        }
        current = nil
    }
}
