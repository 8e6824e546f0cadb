import BeamMedia
import Foundation

/// Frame rate and size, relative to the source.
struct StreamQuality: Hashable, Sendable {
    /// One of this many pictures is coded.
    var divisor = 1
    /// Each side's length in quarters of the full one: 4, 3 or 2.
    var quarters = 4
}

/// Lowers the quality when the path carries less than the content needs: first the bit rate, by the encoder's
/// quantiser; then, when that has become coarse, the frame rate; then the size. Raises it in reverse order.
///
/// Coarse quantisers for half a second mean one step down, or several if the frames' sizes say so. A step up is taken
/// when the rate is clearly higher than at the step down, or when quantisers have been fine for 1.5 s. If it has to be
/// taken back soon, the next attempt is made later each time. At rest the full size returns, because a still picture
/// has all the time that it needs.
///
/// What a better step takes is predicted from the frames of the present one. A step that was taken back although the
/// prediction allowed it needs twice as much room the next time, so that the quality settles on a path that stays the
/// same.
///
/// A value without I/O or clock; its only output is `quality`.
struct QualityLadder {
    /// Quantisers from this on are coarse.
    static let coarse = 36
    /// Up to this, in the mean of the last few, they are fine.
    static let fine = 24.0
    /// The least frame rate: below it motion looks worse than with a smaller picture.
    static let leastFrameRate = 10.0

    /// Quantisers that are coarse for this long cause a step down.
    private static let coarseTime = Duration.milliseconds(500)
    /// The shorter time for a step down where frames are far larger than the path carries.
    private static let overloadTime = Duration.milliseconds(200)
    /// Quantisers that are fine for this long allow a step up.
    private static let fineTime = Duration.milliseconds(1500)
    /// For a step up the rate must be this many times the rate at the step down, for this long.
    private static let clearRateFactor = 1.5
    private static let clearRateTime = Duration.milliseconds(250)
    /// How long a change of size waits for a moment of rest.
    private static let motionTimeout = Duration.seconds(2)
    /// A step up that is taken back within this time came too early.
    private static let trialTime = Duration.seconds(4)
    /// The pause after a step up that came too early. It doubles each time, up to `longestPause`.
    private static let firstPause = Duration.seconds(8)
    private static let longestPause = Duration.seconds(32)
    /// The rest after which the full size returns. It doubles, up to `longestRest`, each time that this came too early.
    private static let firstRest = Duration.milliseconds(300)
    private static let longestRest = Duration.seconds(5)

    /// Best quality first.
    let steps: [StreamQuality]
    /// Each step's bit rate relative to the first step's, for the same content and quantiser.
    private let costs: [Double]
    private(set) var level = 0
    /// The full size has been restored at rest, and holds until quantisers become coarse.
    private(set) var isSizeRestored = false

    /// The estimated bit rate of the first step at quantiser `coarse`, from the frames so far.
    private var need: Double?
    /// The quantisers' moving average.
    private var usualQuantiser: Double?
    private var coarseSince: MediaTime?
    private var fineSince: MediaTime?
    private var moreSince: MediaTime?
    private var risingSince: MediaTime?
    /// The rate at which each step down was taken.
    private var leftRates: [Double]
    private var lastStepUp: MediaTime?
    private var lastRestoration: MediaTime?
    /// No step up before this time, unless the rate is clearly higher than `failedRate`.
    private var pausedUntil: MediaTime?
    private var pause = Duration.zero
    private var failedRate = 0.0
    private var restTime = firstRest

    /// How much room a step needs for a step up to it: its predicted bit rate times this fits into the rate.
    private var margins: [Double]
    private static let firstMargin = 1.6
    /// Each failure doubles the margin, up to this.
    private static let mostMargin = firstMargin * 8
    /// A failure is forgotten after this: halves the margin.
    private static let marginMemory = Duration.seconds(60)
    private var marginsEased: MediaTime?
    /// Until then the frames are coarse and large because the size has changed, which took a keyframe: they tell nothing of
    /// the new step.
    private var settledAt = MediaTime(nanoseconds: .min)
    private static let settlingTime = Duration.seconds(1)

    /// For pictures of `size` at up to `frameRate` a second.
    init(frameRate: Double, size: PixelSize) {
        // Below ten frames a second a smaller picture is better. And since no frame may take more than 0.1 s of the
        // rate, fewer frames would leave some of it unused.
        let rates = [2, 3, 4, 6, 8, 12, 16, 24].filter { frameRate / Double($0) >= Self.leastFrameRate }
        let quarters = [3, 2].filter { size.width * $0 / 4 >= 640 }
        let last = rates.last ?? 1
        steps =
            [StreamQuality()] + rates.map { StreamQuality(divisor: $0) }
            + quarters.map { StreamQuality(divisor: last, quarters: $0) }
        costs = steps.map { step in
            // With fewer frames each one differs more from the last; smaller pictures have more detail in each pixel.
            let (rate, side) = (1 / Double(step.divisor), Double(step.quarters) / 4)
            return rate.squareRoot() * rate.squareRoot().squareRoot() * side * side.squareRoot()
        }
        leftRates = steps.map { _ in 0 }
        margins = steps.map { _ in Self.firstMargin }
    }

    /// The quality to code with now.
    var quality: StreamQuality {
        var quality = steps[level]
        if isSizeRestored { quality.quarters = 4 }
        return quality
    }

    /// Takes in the result of coding a changed picture.
    ///
    /// - Parameters:
    ///   - quantiser: The frame's quantiser.
    ///   - bits: The frame's size in bits.
    ///   - interval: Seconds from this frame to the next, by the source's and the ladder's rate.
    ///   - rate: The rate in bits a second.
    ///   - isPathBound: The path limits the rate. Otherwise the options do, and only the quantiser gives way.
    mutating func coded(
        quantiser: Int, bits: Int, interval: Double, rate: Int, isPathBound: Bool, at time: MediaTime
    ) {
        guard time >= settledAt else { return }
        let rate = Double(rate)
        // The bit rate that this content would take at quantiser `coarse`.
        let taken = Double(bits) / max(0.001, interval)
        let needed = taken * exp2(Double(quantiser - Self.coarse) / 8) / currentCost
        need = need.map { $0 + (needed - $0) / 3 } ?? needed
        note(quantiser, isRateLimited: (need ?? 0) * currentCost > rate * 0.8, at: time)
        guard isPathBound, let since = coarseSince else { return }
        let isOverloaded = taken > rate * 2 || quantiser >= 48
        guard time - since >= (isOverloaded ? Self.overloadTime : Self.coarseTime) else { return }
        stepDown(rate: rate, isOverloaded: isOverloaded, at: time)
    }

    /// Advances the time. `rest`: how long nothing has changed.
    ///
    /// Call it before each picture, and when nothing has changed for `requiredRest`.
    mutating func advance(rate: Int, isPathBound: Bool, rest: Duration, at time: MediaTime) {
        let rate = Double(rate)
        if level > 0, !isSizeRestored, quality.quarters < 4, rest >= restTime {
            isSizeRestored = true
            lastRestoration = time
            coarseSince = nil
        }
        easeMargins(at: time)
        guard level > 0 else { return }
        let isMore = !isPathBound || rate >= leftRates[level] * Self.clearRateFactor
        moreSince = isMore ? moreSince ?? time : nil
        let isRateClear = moreSince.map { time - $0 >= Self.clearRateTime } ?? false
        let isFine = fineSince.map { time - $0 >= Self.fineTime } ?? false
        guard isRateClear || isFine else {
            risingSince = nil
            return
        }
        if let pausedUntil, time < pausedUntil, rate < failedRate * Self.clearRateFactor { return }
        let target = isPathBound ? self.target(rate: rate, isFine: isFine) : 0
        guard target < level else {
            risingSince = nil
            return
        }
        // Another size takes a keyframe, which is noticed least at rest.
        if steps[target].quarters != quality.quarters, rest < Self.firstRest {
            let since = risingSince ?? time
            risingSince = since
            guard time - since >= Self.motionTimeout else { return }
        }
        risingSince = nil
        if steps[target].quarters != quality.quarters { settledAt = time + Self.settlingTime }
        level = target
        lastStepUp = time
        (fineSince, moreSince, coarseSince) = (nil, nil, nil)
        if quality.quarters == 4, level == 0 { isSizeRestored = false }
    }

    /// How long the screen has to rest until the full size returns; nil if it has its full size.
    var requiredRest: Duration? { quality.quarters < 4 ? restTime : nil }

    private var currentCost: Double {
        let side = isSizeRestored ? Double(steps[level].quarters) / 4 : 1
        return costs[level] / (side * side.squareRoot())
    }

    /// Updates the times of coarse and fine quantisers. `isRateLimited`: the rate is the reason; after a keyframe
    /// quantisers are coarse for a while in any case.
    private mutating func note(_ quantiser: Int, isRateLimited: Bool, at time: MediaTime) {
        if quantiser >= Self.coarse, isRateLimited {
            coarseSince = coarseSince ?? time
        } else if quantiser < Self.coarse - 2 || !isRateLimited {
            coarseSince = nil
        }
        let usual = (usualQuantiser ?? Double(quantiser)) * 0.75 + Double(quantiser) * 0.25
        usualQuantiser = usual
        fineSince = usual <= Self.fine ? fineSince ?? time : nil
        // A step up that has lasted ends the growth of the pauses.
        if let lastStepUp, time - lastStepUp > Self.trialTime * 2, coarseSince == nil { pause = .zero }
    }

    /// The best level at which the rate suffices with some room. If none does, the next level where quantisers are fine and
    /// it hasn't failed lately, else the present one.
    private func target(rate: Double, isFine: Bool) -> Int {
        guard let need else { return level - 1 }
        let best = (0..<level).first { candidate in
            // Far from what is coded now, predictions are less certain, and a wrong one costs two changes of size.
            let sides = abs(steps[candidate].quarters - steps[level].quarters)
            return need * costs[candidate] * margins[candidate] * (sides > 1 ? 3 : 1) <= rate
        }
        return best ?? (isFine && margins[level - 1] <= Self.firstMargin ? level - 1 : level)
    }

    private mutating func easeMargins(at time: MediaTime) {
        guard let eased = marginsEased, time - eased >= Self.marginMemory else { return }
        for step in margins.indices { margins[step] = max(Self.firstMargin, margins[step] / 2) }
        marginsEased = margins.contains { $0 > Self.firstMargin } ? time : nil
    }

    private mutating func stepDown(rate: Double, isOverloaded: Bool, at time: MediaTime) {
        coarseSince = time
        if isSizeRestored {
            // The restored size was too much. If that showed soon, the next rest has to be longer.
            isSizeRestored = false
            let isEarly = lastRestoration.map { time - $0 < Self.trialTime } ?? false
            restTime = isEarly ? min(restTime * 2, Self.longestRest) : Self.firstRest
            return
        }
        guard level < steps.count - 1 else { return }
        if let lastStepUp, time - lastStepUp < Self.trialTime {
            pause = min(Self.longestPause, max(Self.firstPause, pause * 2))
            pausedUntil = time + pause
            failedRate = rate
            // Better steps take even more.
            for step in 0...level { margins[step] = min(Self.mostMargin, margins[step] * 2) }
            marginsEased = time
        }
        let wanted = need.map { need in
            (level + 1..<steps.count).first { need * costs[$0] <= rate } ?? steps.count - 1
        }
        // At most three levels at once, because the frames may have been large only for a moment. In an overload all at
        // once; and never two sizes in a row, because each takes a keyframe.
        var next = isOverloaded ? wanted ?? level + 1 : min(wanted ?? level + 1, level + 3)
        if let wanted, steps[next].quarters != quality.quarters { next = max(next, wanted) }
        for left in level + 1...next { leftRates[left] = rate }
        level = next
        fineSince = nil
        moreSince = nil
    }
}
