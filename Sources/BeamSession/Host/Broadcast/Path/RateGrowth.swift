import BeamMedia

/// Decides when the allowed rate may grow, and how far.
struct RateGrowth: Sendable {
    /// Bytes sent since the round began.
    private var bytes = 0
    private(set) var roundBegan: MediaTime?
    /// Bits a second sent, averaged over the last rounds.
    private(set) var sentRate = 0.0
    /// The rate at which the path was last congested, in bits a second.
    private(set) var ceiling: Double?
    /// Since when no queue was seen.
    private(set) var quietSince: MediaTime?
    /// Set when trains mislead: for a while more was delivered than they tell, without a queue (jitter spreads them),
    /// or less (a policer drops).
    var distrustsTrains = false
    private var contradictions = 0
    /// The path was congested at a rate far below what trains had told, repeatedly: it lets short bursts pass at full
    /// speed (a token bucket), and the rate isn't to be derived from trains.
    private(set) var isMisled = false
    private var misledUntil = MediaTime(nanoseconds: .min)
    private var lastMisleading: MediaTime?
    private var misleadingTime = firstMisleadingTime

    /// Two such congestions within this time count as repeated: a path whose rate really falls shows that in its trains
    /// afterwards, and isn't congested again soon.
    private static let misleadingSpan = Duration.seconds(20)
    /// How long trains aren't believed then. Doubled each time, up to the longest.
    private static let firstMisleadingTime = Duration.seconds(60)
    private static let longestMisleadingTime = Duration.seconds(480)
    /// A rate of this many times the last ceiling, reached without a queue, tells that the path is another one.
    private static let outgrownCeiling = 2.0
    /// Trains mislead if they tell this many times what was delivered.
    private static let misleadingFactor = 2.0
    /// The path has dropped datagrams for want of room within the last 20 s. Pacing then stays close to the allowed
    /// rate, and growth is slower.
    private var carefulUntil = MediaTime(nanoseconds: .min)
    private(set) var isCareful = false

    mutating func sent(_ count: Int) { bytes += count }

    mutating func congested(at rate: Double) {
        ceiling = rate
        quietSince = nil
    }

    /// The path was congested although it delivered only `carried`. `train`: what trains had told.
    /// Both in bits a second.
    mutating func congested(carried: Double, train: Double, now: MediaTime) {
        guard train >= Self.misleadingFactor * carried else { return }
        defer { lastMisleading = now }
        guard !isMisled, let lastMisleading, now - lastMisleading < Self.misleadingSpan else { return }
        isMisled = true
        misledUntil = now + misleadingTime
        misleadingTime = min(Self.longestMisleadingTime, misleadingTime * 2)
    }

    /// The rate has grown to `rate` without a queue.
    mutating func grew(to rate: Double) {
        guard isMisled, let ceiling, rate > Self.outgrownCeiling * ceiling else { return }
        isMisled = false
        lastMisleading = nil
        misleadingTime = Self.firstMisleadingTime
    }

    /// The path has dropped datagrams for want of room.
    mutating func dropped(now: MediaTime) {
        carefulUntil = now + .seconds(20)
        isCareful = true
    }

    /// The losses weren't caused by congestion.
    mutating func dropsWereRandom() {
        carefulUntil = MediaTime(nanoseconds: .min)
        isCareful = false
    }

    mutating func restart(now: MediaTime) {
        bytes = 0
        roundBegan = now
        quietSince = now
    }

    /// Ends a round that has lasted `length` seconds or more, and returns its rate of sending in bits a second; nil if
    /// it hasn't lasted that long.
    mutating func endRound(length: Double, now: MediaTime) -> Double? {
        guard let began = roundBegan else {
            restart(now: now)
            return nil
        }
        let time = (now - began).inSeconds
        guard time >= length else { return nil }
        let latest = Double(bytes) * 8 / time
        sentRate = time > 0.5 ? latest : (sentRate + latest) / 2
        bytes = 0
        roundBegan = now
        isCareful = now < carefulUntil
        isMisled = isMisled && now < misledUntil
        if quietSince == nil { quietSince = now }
        return latest
    }

    mutating func compare(arriving: Double?, train: Double?) {
        guard let arriving, let train else { return }
        contradictions = arriving > 1.05 * train ? contradictions + 1 : 0
        if contradictions >= 3 { distrustsTrains = true }
    }
}

extension PathControl {
    mutating func grow(now: MediaTime) {
        let length = max(0.1, min(rtt.smoothed ?? 0, 0.3))
        guard let latest = growth.endRound(length: length, now: now) else { return }
        growth.compare(arriving: arrivingRate(now: now), train: trains.isStretched ? trainRate(now: now) : nil)
        guard isBound, share == nil, losses.share < trial.tolerated(now: now, isCareful: growth.isCareful) else {
            return
        }
        guard let queue = delay.queue(now: now)?.delay, queue < 0.012 + delay.jitter / 2 else { return }
        let isFilled = latest >= 0.6 * allowed
        let raised: Double
        if let train = trainRate(now: now), trains.isFresh(now: now), !growth.distrustsTrains, !growth.isMisled {
            raised = grown(towards: train, isFilled: isFilled, now: now)
        } else {
            raised = isFilled ? grownWithoutTrains(now: now) : allowed
        }
        allowed = min(highest, raised)
        growth.grew(to: allowed)
    }

    /// Growth towards what the trains tell.
    private func grown(towards train: Double, isFilled: Bool, now: MediaTime) -> Double {
        if allowed < 0.92 * train {
            // If little was sent, the path was tested at a low rate only, so the goal is lower.
            let goal = (isFilled ? 0.92 : 0.7) * train
            // After drops, trains that aren't stretched are weak evidence near the last ceiling.
            let isSuspect = growth.isCareful && !trains.isStretched && allowed > 0.9 * (growth.ceiling ?? highest)
            return max(allowed, min(goal, allowed * (isSuspect ? 1.02 : isFilled ? 1.5 : 1.25)))
        }
        // Above 0.92 of the trains' rate: slowly, up to that rate.
        let isQuiet = growth.quietSince.map { now - $0 >= .seconds(1) } ?? false
        return isFilled && isQuiet ? min(allowed * 1.002, max(allowed, train)) : allowed
    }

    /// Growth without trains: fast below the last ceiling, slow around it, faster above it.
    private func grownWithoutTrains(now: MediaTime) -> Double {
        let ceiling = growth.ceiling ?? 2 * highest
        if allowed > 0.9 * ceiling, allowed < 1.1 * ceiling {
            // The longer no queue is seen, the less likely the ceiling still holds.
            let quiet = growth.quietSince.map { (now - $0).inSeconds } ?? 0
            return allowed * min(1.08, 1.003 + 0.004 * quiet * quiet)
        }
        if allowed < ceiling { return min(0.92 * ceiling, allowed * 1.5) }
        return allowed * (growth.isCareful ? 1.02 : 1.08)
    }
}
