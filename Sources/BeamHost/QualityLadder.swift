import BeamMedia
import Foundation

/// How often, and how large, pictures are coded.
struct StreamQuality: Hashable, Sendable {
    /// Of so many pictures of the source one is coded.
    var divisor = 1
    /// Each side's share of its full length, in quarters: 4, 3 or 2.
    var quarters = 4
}

/// What gives way when the path carries less than the picture needs: first the bit rate, which is the encoder's quantiser; when
/// that has become coarse, the frame rate; then the size. And back, in reverse order.
///
/// Coarse for half a second is one step down, or as many as what the frames took says. A step up is taken when the rate is
/// clearly higher than it was on the way down, or quantisers have been fine for a second; one that had to be taken back soon is
/// tried later and later. At rest the size returns by itself, for what stands still has all the time that it needs.
///
/// Pure: time comes in, nothing goes out but `quality`.
struct QualityLadder {
    /// Quantisers from here on are coarse.
    static let coarse = 36
    /// And up to here they are fine, in the mean of the last few.
    static let fine = 24.0
    /// The frame rate doesn't give way below this.
    static let leastFrameRate = 10.0

    private static let patience = Duration.milliseconds(500)
    /// Where frames are far beyond what the path carries.
    private static let shortPatience = Duration.milliseconds(200)
    private static let fineTime = Duration.milliseconds(1500)
    /// The rate has to be so many times what it was, for so long.
    private static let clearlyMore = 1.5
    private static let clearTime = Duration.milliseconds(250)
    /// Another size in the midst of motion waits so long for a moment of rest.
    private static let motionTime = Duration.seconds(2)
    /// A step that is taken back within this came too early.
    private static let trialTime = Duration.seconds(4)
    private static let firstPause = Duration.seconds(8)
    private static let longestPause = Duration.seconds(32)
    private static let firstRest = Duration.milliseconds(300)
    private static let longestRest = Duration.seconds(5)

    /// From the full quality down.
    let steps: [StreamQuality]
    /// Each step's bits a second against the first's, for the same content and quantiser.
    private let costs: [Double]
    private(set) var level = 0
    /// The picture rests, or has rested since, and has its full size, whatever the level says.
    private(set) var isSizeRestored = false

    /// What the first step would take at quantiser `coarse`, in bits a second, as far as frames have told.
    private var need: Double?
    /// The mean of the last few.
    private var usualQuantiser: Double?
    private var coarseSince: MediaTime?
    private var fineSince: MediaTime?
    private var moreSince: MediaTime?
    private var risingSince: MediaTime?
    /// The rate at which each step was taken downwards.
    private var leftRates: [Double]
    private var lastStepUp: MediaTime?
    private var lastRestoration: MediaTime?
    /// No step up before this, unless the rate has become clearly higher than `failedRate`.
    private var pausedUntil: MediaTime?
    private var pause = Duration.zero
    private var failedRate = 0.0
    private var restTime = firstRest

    /// For pictures of `size` at up to `frameRate` a second.
    init(frameRate: Double, size: PixelSize) {
        // Motion at less than ten pictures a second is worse than motion that is less sharp; and since no frame may take more
        // than a tenth of a second of the rate, fewer would leave some of it unused.
        let rates = [2, 3, 4, 6, 8, 12, 16, 24].filter { frameRate / Double($0) >= Self.leastFrameRate }
        let quarters = [3, 2].filter { size.width * $0 / 4 >= 640 }
        let last = rates.last ?? 1
        steps =
            [StreamQuality()] + rates.map { StreamQuality(divisor: $0) }
            + quarters.map { StreamQuality(divisor: last, quarters: $0) }
        costs = steps.map { step in
            // What moves is further from the last picture when there are fewer; and small pictures have more detail to the pixel.
            let (rate, side) = (1 / Double(step.divisor), Double(step.quarters) / 4)
            return rate.squareRoot() * rate.squareRoot().squareRoot() * side * side.squareRoot()
        }
        leftRates = steps.map { _ in 0 }
    }

    /// What is to be coded now.
    var quality: StreamQuality {
        var quality = steps[level]
        if isSizeRestored { quality.quarters = 4 }
        return quality
    }

    /// A picture that has changed was coded.
    ///
    /// - Parameters:
    ///   - quantiser: The frame's.
    ///   - bits: What it took.
    ///   - interval: From such a frame to the next, as the source and the level have it, in seconds.
    ///   - rate: What the path carries, in bits a second; `isPathBound` false: it is only what was allowed, and no reason for
    ///     anything but the quantiser to give way.
    mutating func coded(
        quantiser: Int, bits: Int, interval: Double, rate: Int, isPathBound: Bool, at time: MediaTime
    ) {
        let rate = Double(rate)
        // What it would take at the quantiser where coarse begins.
        let taken = Double(bits) / max(0.001, interval)
        let needed = taken * exp2(Double(quantiser - Self.coarse) / 8) / currentCost
        need = need.map { $0 + (needed - $0) / 3 } ?? needed
        note(quantiser, isPressed: (need ?? 0) * currentCost > rate * 0.8, at: time)
        guard isPathBound, let since = coarseSince else { return }
        let isFlood = taken > rate * 2 || quantiser >= 48
        guard time - since >= (isFlood ? Self.shortPatience : Self.patience) else { return }
        stepDown(rate: rate, isFlood: isFlood, at: time)
    }

    /// Time goes by; `rest`: so long nothing has changed.
    ///
    /// Call it before each picture, and when nothing has changed for `restWanted`.
    mutating func advance(rate: Int, isPathBound: Bool, rest: Duration, at time: MediaTime) {
        let rate = Double(rate)
        if level > 0, !isSizeRestored, quality.quarters < 4, rest >= restTime {
            isSizeRestored = true
            lastRestoration = time
            coarseSince = nil
        }
        guard level > 0 else { return }
        let isMore = !isPathBound || rate >= leftRates[level] * Self.clearlyMore
        moreSince = isMore ? moreSince ?? time : nil
        let isRateClear = moreSince.map { time - $0 >= Self.clearTime } ?? false
        let isFine = fineSince.map { time - $0 >= Self.fineTime } ?? false
        guard isRateClear || isFine else {
            risingSince = nil
            return
        }
        if let pausedUntil, time < pausedUntil, rate < failedRate * Self.clearlyMore { return }
        let target = isPathBound ? self.target(rate: rate, atMost: level - 1) : 0
        // Another size is another keyframe: better at a moment that nobody sees.
        if steps[target].quarters != quality.quarters, rest < Self.firstRest {
            let since = risingSince ?? time
            risingSince = since
            guard time - since >= Self.motionTime else { return }
        }
        risingSince = nil
        level = target
        lastStepUp = time
        (fineSince, moreSince, coarseSince) = (nil, nil, nil)
        if quality.quarters == 4, level == 0 { isSizeRestored = false }
    }

    /// How long nothing has to change for the size to return; nil where it has its full size.
    var restWanted: Duration? { quality.quarters < 4 ? restTime : nil }

    private var currentCost: Double {
        let side = isSizeRestored ? Double(steps[level].quarters) / 4 : 1
        return costs[level] / (side * side.squareRoot())
    }

    /// `isPressed`: the rate is why. After a keyframe quantisers are coarse for a while by themselves.
    private mutating func note(_ quantiser: Int, isPressed: Bool, at time: MediaTime) {
        if quantiser >= Self.coarse, isPressed {
            coarseSince = coarseSince ?? time
        } else if quantiser < Self.coarse - 2 || !isPressed {
            coarseSince = nil
        }
        let usual = (usualQuantiser ?? Double(quantiser)) * 0.75 + Double(quantiser) * 0.25
        usualQuantiser = usual
        fineSince = usual <= Self.fine ? fineSince ?? time : nil
        // A step that has proved itself is forgotten, with those before it that hadn't.
        if let lastStepUp, time - lastStepUp > Self.trialTime * 2, coarseSince == nil { pause = .zero }
    }

    /// The first level from the top, `atMost` at worst, at which the rate suffices with some room.
    private func target(rate: Double, atMost: Int) -> Int {
        guard let need else { return atMost }
        return (0...atMost).first { need * costs[$0] * 1.3 <= rate } ?? atMost
    }

    private mutating func stepDown(rate: Double, isFlood: Bool, at time: MediaTime) {
        coarseSince = time
        if isSizeRestored {
            // The level was right all along. If it took little time to find that out, the next rest has to be longer.
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
        }
        let wanted = need.map { need in
            (level + 1..<steps.count).first { need * costs[$0] <= rate } ?? steps.count - 1
        }
        // Not all the way at once: what the frames took may have been a moment's. But in a flood there is no time for that, and two
        // sizes are two keyframes.
        var next = isFlood ? wanted ?? level + 1 : min(wanted ?? level + 1, level + 3)
        if let wanted, steps[next].quarters != quality.quarters { next = max(next, wanted) }
        for left in level + 1...next { leftRates[left] = rate }
        level = next
        fineSince = nil
        moreSince = nil
    }
}
