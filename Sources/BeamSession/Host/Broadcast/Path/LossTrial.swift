import BeamMedia

/// Sends at a lower rate for about a second, to find out whether loss comes from congestion.
struct LossTrial: Sendable {
    private struct Running: Sendable {
        /// The rate in bits a second, and the share lost, before the trial.
        var rate: Double
        var loss: Double
        /// Bits a second sent and delivered before the trial.
        var sent: Double
        var arriving: Double
        var began: MediaTime
        var sentTotal: Int64
        /// Reports count from here on: what was sent at the old rate has arrived by then.
        var from: MediaTime
        var until: MediaTime
        var expected = 0
        var lost = 0
    }

    /// The lower rate helped. For 5 s `reconsidered` checks whether that was chance.
    private struct Lowered: Sendable {
        var rate: Double
        var loss: Double
        var newRate: Double
        var until: MediaTime
    }

    enum Verdict: Sendable {
        case running
        /// The lower rate ended the loss, or as much arrives although less is sent: `arriving`, in bits a second.
        case congestion(arriving: Double?)
        /// The lower rate made no difference: the loss is the path's. `rate` is the one before the trial.
        case randomLoss(rate: Double)
    }

    /// How long the reports of a trial are counted, and the fewest datagrams that a verdict rests on; 2 s later it is
    /// given in any case.
    private static let trialTime = Duration.milliseconds(600)
    private static let fewestDatagrams = 60
    /// At more than this share lost, recovery can't keep up: send less, whatever the cause.
    private static let unrecoverableLoss = 0.35
    /// Recovery copes with a share lost below this.
    private static let tolerableLoss = 0.08
    /// At or below this rate, in bits a second, no trial is made: there is hardly less to send.
    static let leastRate = 300_000.0

    private var running: Running?
    private var lowered: Lowered?
    /// The share lost that isn't caused by congestion, and until when this is assumed.
    private var baseline = 0.0
    private var baselineUntil = MediaTime.zero

    var isRunning: Bool { running != nil }

    /// The share lost up to which the rate may stay, and grow. Lower where the path was seen to drop what exceeds its
    /// rate (`isCareful`).
    func tolerated(now: MediaTime, isCareful: Bool) -> Double {
        let baseline = now < baselineUntil ? baseline : 0
        return isCareful ? 1.5 * baseline + 0.02 : min(0.5, max(Self.tolerableLoss, 1.5 * baseline))
    }

    /// `rate`, `loss`, `sent` and `arriving` are those before the trial; `total`: bytes sent so far; `roundTrip`:
    /// seconds.
    mutating func start(
        rate: Double, loss: Double, sent: Double, arriving: Double, total: Int64, roundTrip: Double, now: MediaTime
    ) {
        let from = now + .seconds(clamping: roundTrip + 0.05)
        running = Running(
            rate: rate, loss: loss, sent: sent, arriving: arriving, began: now, sentTotal: total, from: from,
            until: from + Self.trialTime)
        lowered = nil
    }

    mutating func counted(expected: Int, lost: Int, now: MediaTime) {
        guard let from = running?.from, now >= from else { return }
        running?.expected += expected
        running?.lost += lost
    }

    /// `rate` is the trial's, `arriving` the rate of delivery now, both in bits a second; `total`: bytes sent so far.
    mutating func judge(rate: Double, arriving: Double?, total: Int64, now: MediaTime) -> Verdict {
        guard let running, now >= running.until else { return .running }
        guard running.expected >= Self.fewestDatagrams || now >= running.until + .seconds(2) else { return .running }
        self.running = nil
        let share = running.expected > 0 ? max(0, Double(running.lost) / Double(running.expected)) : 0
        baselineUntil = now + .seconds(20)
        // As much arrives although less is sent: what was sent above that was dropped.
        let sent = Double(total - running.sentTotal) * 8 / max(1e-3, (now - running.began).inSeconds)
        let less = 1 - sent / max(1, running.sent)
        let isFull = less > 0.05 && (arriving ?? 0) > (1 - 0.4 * less) * running.arriving
        if running.expected >= Self.fewestDatagrams,
            share < 0.4 * running.loss || isFull || share > Self.unrecoverableLoss
        {
            baseline = min(share, running.loss)
            lowered = Lowered(rate: running.rate, loss: running.loss, newRate: rate, until: now + .seconds(5))
            return .congestion(arriving: isFull ? arriving : nil)
        }
        baseline = max(share, running.loss)
        return .randomLoss(rate: running.rate)
    }

    /// The rate before the last trial, if the loss has come back: then it had gone by chance, not because of the lower
    /// rate.
    mutating func reconsidered(rate: Double, loss: Double, now: MediaTime) -> Double? {
        guard let lowered, now < lowered.until, rate < 1.05 * lowered.newRate, loss < Self.unrecoverableLoss else {
            return nil
        }
        guard loss > max(0.5 * lowered.loss, 0.02) else { return nil }
        baseline = max(baseline, lowered.loss)
        baselineUntil = now + .seconds(20)
        self.lowered = nil
        return lowered.rate
    }

    /// Ends the trial without a verdict. Returns the rate before it, if one was running.
    mutating func cancel() -> Double? {
        defer {
            running = nil
            lowered = nil
        }
        return running?.rate
    }
}

extension PathControl {
    /// How long loss has to last: a datagram that was only overtaken counts as lost for a moment.
    private static let leastLossTime = Duration.milliseconds(200)
    /// A share lost up to this isn't examined.
    private static let negligibleLoss = 0.03

    /// After the rate was lowered: reports of the next round trip are still about the old rate.
    mutating func forgetLosses(now: MediaTime) {
        losses.forget(until: now + .seconds(clamping: (rtt.smoothed ?? 0) + 0.05))
    }

    mutating func judgeLoss(now: MediaTime) {
        if trial.isRunning {
            judgeTrial(now: now)
            return
        }
        let tolerated = trial.tolerated(now: now, isCareful: growth.isCareful)
        guard losses.share > min(Self.negligibleLoss, tolerated), losses.weight >= 60 else {
            lossySince = nil
            return
        }
        let since = lossySince ?? now
        lossySince = since
        // Heavy loss over many datagrams is acted on without waiting.
        let isClear = losses.share > 0.4 && losses.weight >= 150
        guard isClear || now >= since + Self.leastLossTime, let arriving = arrivingRate(now: now) else {
            return
        }
        if let before = trial.reconsidered(rate: allowed, loss: losses.share, now: now) {
            raiseAgain(to: before, now: now)
        } else if let train = overrunTrain(arriving: arriving, now: now) {
            allowed = max(Self.leastRate, 0.92 * train)
            growth.congested(at: train)
            growth.dropped(now: now)
            forgetLosses(now: now)
        } else if losses.share > tolerated, growth.sentRate > 0.5 * allowed, allowed > LossTrial.leastRate {
            trial.start(
                rate: allowed, loss: losses.share, sent: growth.sentRate, arriving: arriving, total: sentTotal,
                roundTrip: rtt.smoothed ?? 0, now: now)
            // If the path is full, it carries what isn't lost.
            allowed = max(Self.leastRate, allowed * 0.95 * (1 - losses.share))
            growth.dropped(now: now)
        }
    }

    /// The path's capacity in bits a second, where a queue overflows that is too short to be seen as delay: trains are
    /// stretched, and no more arrives than they tell. Nil otherwise.
    private func overrunTrain(arriving: Double, now: MediaTime) -> Double? {
        guard trains.isStretched, !growth.distrustsTrains, let train = trainRate(now: now) else { return nil }
        return train < 0.95 * growth.sentRate && arriving <= 1.1 * train && 0.92 * train < allowed ? train : nil
    }

    /// All bytes sent on the path.
    private var sentTotal: Int64 { flight.sent + side.total }

    private mutating func judgeTrial(now: MediaTime) {
        switch trial.judge(rate: allowed, arriving: arrivingRate(now: now), total: sentTotal, now: now) {
        case .running: return
        case .congestion(let arriving):
            if let arriving { allowed = max(0.5 * allowed, min(allowed, 0.93 * arriving)) }
            forgetLosses(now: now)
            growth.congested(at: allowed)
            growth.dropped(now: now)
            // A policer: short trains pass at full speed, but a stream doesn't.
            if !trains.isStretched, let train = trainRate(now: now), train > 1.2 * allowed {
                growth.distrustsTrains = true
            }
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
