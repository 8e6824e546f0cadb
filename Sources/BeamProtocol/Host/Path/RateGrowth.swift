import BeamMedia

/// When the rate may rise, and how far.
struct RateGrowth: Sendable {
    /// Bytes since the round began.
    private var bytes = 0
    private(set) var roundBegan: MediaTime?
    /// Bits a second that left in the last rounds.
    private(set) var sentRate = 0.0
    /// The rate at which the path was last seen to be full.
    private(set) var ceiling: Double?
    /// Since when there has been no queue.
    private(set) var quietSince: MediaTime?
    /// More has arrived for a while than trains tell, without a queue: jitter spreads them. Or less: something drops.
    var distrustsTrains = false
    private var contradictions = 0
    /// The path drops what comes too fast, or did until lately: trains must not be much faster than it.
    private var carefulUntil = MediaTime(nanoseconds: .min)
    private(set) var isCareful = false

    mutating func sent(_ count: Int) { bytes += count }

    mutating func congested(at rate: Double) {
        ceiling = rate
        quietSince = nil
    }

    /// Datagrams were dropped for want of room.
    mutating func dropped(now: MediaTime) {
        carefulUntil = now + .seconds(20)
        isCareful = true
    }

    /// They weren't.
    mutating func dropsWereRandom() {
        carefulUntil = MediaTime(nanoseconds: .min)
        isCareful = false
    }

    mutating func restart(now: MediaTime) {
        bytes = 0
        roundBegan = now
        quietSince = now
    }

    /// Ends a round of `length` seconds or more; nil before.
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
        growth.compare(arriving: delivered.rate(over: 0.3), train: trains.isStretched ? trains.rate : nil)
        guard isBound, losses.share < trial.tolerated(now: now, isCareful: growth.isCareful) else { return }
        guard let queue = delay.queue(now: now)?.delay, queue < 0.012 + delay.jitter / 2 else { return }
        let isFilled = latest >= 0.6 * allowed
        let raised: Double
        if let train = trains.rate, trains.isFresh(now: now), !growth.distrustsTrains {
            raised = grown(towards: train, isFilled: isFilled, now: now)
        } else {
            raised = isFilled ? grownBlindly(now: now) : allowed
        }
        allowed = min(highest, raised)
    }

    /// Where trains tell how far it goes.
    private func grown(towards train: Double, isFilled: Bool, now: MediaTime) -> Double {
        if allowed < 0.92 * train {
            // Little was sent: then little was proven.
            let goal = (isFilled ? 0.92 : 0.7) * train
            // Where too much was dropped, trains that aren't stretched prove little, too.
            let isSuspect = growth.isCareful && !trains.isStretched && allowed > 0.9 * (growth.ceiling ?? highest)
            return max(allowed, min(goal, allowed * (isSuspect ? 1.02 : isFilled ? 1.5 : 1.25)))
        }
        // Beyond that, slowly, up to what they tell: it might be more.
        let isQuiet = growth.quietSince.map { now - $0 >= .seconds(1) } ?? false
        return isFilled && isQuiet ? min(allowed * 1.002, max(allowed, train)) : allowed
    }

    /// Quick towards what was known to be too much, slow around it, quicker beyond.
    private func grownBlindly(now: MediaTime) -> Double {
        let ceiling = growth.ceiling ?? 2 * highest
        if allowed > 0.9 * ceiling, allowed < 1.1 * ceiling {
            // The longer it stays quiet, the less likely it is that the ceiling is still there.
            let quiet = growth.quietSince.map { (now - $0).inSeconds } ?? 0
            return allowed * min(1.08, 1.003 + 0.004 * quiet * quiet)
        }
        if allowed < ceiling { return min(0.92 * ceiling, allowed * 1.5) }
        return allowed * (growth.isCareful ? 1.02 : 1.08)
    }
}
