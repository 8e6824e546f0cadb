import BeamMedia

/// Finds out whether sending less loses less: a second or so at a lower rate.
struct LossTrial: Sendable {
    private struct Running: Sendable {
        /// The rate and the loss before.
        var rate: Double
        var loss: Double
        /// Bits a second that left and that arrived before.
        var sent: Double
        var arriving: Double
        var began: MediaTime
        var sentTotal: Int64
        /// What was sent less has arrived from then on.
        var from: MediaTime
        var until: MediaTime
        var expected = 0
        var lost = 0
    }

    /// Sending less has helped; it is watched for a while whether that was chance.
    private struct Lowered: Sendable {
        var rate: Double
        var loss: Double
        var to: Double
        var until: MediaTime
    }

    enum Verdict: Sendable {
        case running
        /// Sending less ended it, or as much arrived of less: `arriving`, in bits a second.
        case congestion(arriving: Double?)
        /// It made no difference; the rate was that before.
        case randomLoss(rate: Double)
    }

    private static let length = Duration.milliseconds(600)
    private static let fewest = 60
    /// No stream survives more: it is better to send less.
    private static let unrecoverable = 0.35
    /// Loss below that is for recovery to deal with.
    private static let tolerable = 0.08
    /// What needs no trial: nothing less could be sent.
    static let leastRate = 300_000.0

    private var running: Running?
    private var lowered: Lowered?
    /// Loss that doesn't come from sending too much, and until when that is believed.
    private var baseline = 0.0
    private var baselineUntil = MediaTime.zero

    var isRunning: Bool { running != nil }

    /// Loss up to which the rate may stay, and rise. Where the path was seen to drop what is too much, more is suspicious
    /// sooner.
    func tolerated(now: MediaTime, isCareful: Bool) -> Double {
        let baseline = now < baselineUntil ? baseline : 0
        return isCareful ? 1.5 * baseline + 0.02 : min(0.5, max(Self.tolerable, 1.5 * baseline))
    }

    /// `rate`, the share lost, what left and what arrived are those of before, `total` the bytes that have left by now.
    mutating func start(
        rate: Double, loss: Double, sent: Double, arriving: Double, total: Int64, roundTrip: Double, now: MediaTime
    ) {
        let from = now + .seconds(clamping: roundTrip + 0.05)
        running = Running(
            rate: rate, loss: loss, sent: sent, arriving: arriving, began: now, sentTotal: total, from: from,
            until: from + Self.length)
        lowered = nil
    }

    mutating func counted(expected: Int, lost: Int, now: MediaTime) {
        guard let from = running?.from, now >= from else { return }
        running?.expected += expected
        running?.lost += lost
    }

    /// `rate` is that of the trial, `arriving` what came of it, `total` the bytes that have left by now.
    mutating func judge(rate: Double, arriving: Double?, total: Int64, now: MediaTime) -> Verdict {
        guard let running, now >= running.until else { return .running }
        guard running.expected >= Self.fewest || now >= running.until + .seconds(2) else { return .running }
        self.running = nil
        let share = running.expected > 0 ? max(0, Double(running.lost) / Double(running.expected)) : 0
        baselineUntil = now + .seconds(20)
        // As much arrives although less leaves: the rest was too much.
        let sent = Double(total - running.sentTotal) * 8 / max(1e-3, (now - running.began).inSeconds)
        let less = 1 - sent / max(1, running.sent)
        let isFull = less > 0.05 && (arriving ?? 0) > (1 - 0.4 * less) * running.arriving
        if running.expected >= Self.fewest, share < 0.4 * running.loss || isFull || share > Self.unrecoverable {
            baseline = min(share, running.loss)
            lowered = Lowered(rate: running.rate, loss: running.loss, to: rate, until: now + .seconds(5))
            return .congestion(arriving: isFull ? arriving : nil)
        }
        baseline = max(share, running.loss)
        return .randomLoss(rate: running.rate)
    }

    /// The rate before the last trial, if loss has come back by itself, so that it was by chance that it had gone.
    mutating func reconsidered(rate: Double, loss: Double, now: MediaTime) -> Double? {
        guard let lowered, now < lowered.until, rate < 1.05 * lowered.to, loss < Self.unrecoverable else { return nil }
        guard loss > max(0.5 * lowered.loss, 0.02) else { return nil }
        baseline = max(baseline, lowered.loss)
        baselineUntil = now + .seconds(20)
        self.lowered = nil
        return lowered.rate
    }

    /// Something else has happened; answers with the rate before, if it ran.
    mutating func cancel() -> Double? {
        defer {
            running = nil
            lowered = nil
        }
        return running?.rate
    }
}

extension PathControl {
    /// Loss has to last that long before it means anything: what was overtaken isn't lost.
    private static let lasting = Duration.milliseconds(200)
    /// Loss that isn't worth a look.
    private static let small = 0.03

    /// The rate was lowered: what was sent before is heard of for another round rtt.
    mutating func forgetLosses(now: MediaTime) {
        losses.forget(until: now + .seconds(clamping: (rtt.smoothed ?? 0) + 0.05))
    }

    mutating func judgeLoss(now: MediaTime) {
        if trial.isRunning {
            judgeTrial(now: now)
            return
        }
        let tolerated = trial.tolerated(now: now, isCareful: growth.isCareful)
        guard losses.share > min(Self.small, tolerated), losses.weight >= 60 else {
            lossySince = nil
            return
        }
        let since = lossySince ?? now
        lossySince = since
        // Much of many needs no silenceTimeout.
        let isClear = losses.share > 0.4 && losses.weight >= 150
        guard isClear || now >= since + Self.lasting, let arriving = delivered.rate(over: 0.3) else {
            return
        }
        if let before = trial.reconsidered(rate: allowed, loss: losses.share, now: now) {
            raiseAgain(to: before, now: now)
        } else if let train = overrunTrain(arriving: arriving) {
            allowed = max(Self.leastRate, 0.92 * train)
            growth.congested(at: train)
            growth.dropped(now: now)
            forgetLosses(now: now)
        } else if losses.share > tolerated, growth.sentRate > 0.5 * allowed, allowed > LossTrial.leastRate {
            trial.start(
                rate: allowed, loss: losses.share, sent: growth.sentRate, arriving: arriving, total: flight.sent,
                roundTrip: rtt.smoothed ?? 0, now: now)
            // What isn't lost is what a path that is full would carry.
            allowed = max(Self.leastRate, allowed * 0.95 * (1 - losses.share))
            growth.dropped(now: now)
        }
    }

    /// What the path carries, where a queue too short to be felt overruns: trains are stretched by it, and no more arrives
    /// than they tell.
    private func overrunTrain(arriving: Double) -> Double? {
        guard trains.isStretched, !growth.distrustsTrains, let train = trains.rate else { return nil }
        return train < 0.95 * growth.sentRate && arriving <= 1.1 * train && 0.92 * train < allowed ? train : nil
    }

    private mutating func judgeTrial(now: MediaTime) {
        switch trial.judge(rate: allowed, arriving: delivered.rate(over: 0.3), total: flight.sent, now: now) {
        case .running: return
        case .congestion(let arriving):
            if let arriving { allowed = max(0.5 * allowed, min(allowed, 0.93 * arriving)) }
            forgetLosses(now: now)
            growth.congested(at: allowed)
            growth.dropped(now: now)
            // Trains come through, streams don't: a policer.
            if !trains.isStretched, let train = trains.rate, train > 1.2 * allowed { growth.distrustsTrains = true }
        case .randomLoss(let rate):
            raiseAgain(to: rate, now: now)
        }
        lossySince = nil
    }

    private mutating func raiseAgain(to rate: Double, now: MediaTime) {
        allowed = min(highest, max(allowed, rate))
        growth.dropsWereRandom()
        growth.restart(now: now)
    }
}
