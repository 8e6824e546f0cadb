import BeamMedia

/// A standing queue on the path, from when it was seen until it has drained.
struct Congestion: Sendable {
    /// The rate of delivery of frames while the queue stood, in bits a second.
    var deliveryRate: Double
    /// The allowed rate before, in bits a second.
    var rateBefore: Double
    /// The queueing delay when `deliveryRate` was measured, in seconds, and when that was.
    var queue: Double
    var measuredAt: MediaTime
    /// Bytes sent by then, and bytes in flight then.
    var sent: Int64
    var inFlight: Int
    /// When the queue should have drained, if it was caused by this stream.
    var drained: MediaTime?

    /// The longest queueing delay that this stream can have caused, in seconds: what was sent less what was delivered,
    /// if all that was in flight stood in the queue.
    func expectedQueue(sent: Int64, now: MediaTime) -> Double {
        let backlog = Double(Int64(inFlight) + sent - self.sent) * 8 / deliveryRate
        return max(queue, backlog) - (now - measuredAt).inSeconds
    }
}

extension PathControl {
    /// In bits a second. A lower bound, so that the queue is expected to drain at some time even on a path that seems
    /// to carry nothing.
    /// Above this share of lost datagrams, trains aren't taken to mislead.
    private static let mostMisledLoss = 0.05
    private static let leastCarried = 8000.0
    /// A queueing delay above this, in seconds, is congestion. It grows with the path's jitter.
    private var threshold: Double { 0.02 + delay.jitter / 2 }
    /// The three newest samples above this, in seconds, are congestion without waiting for 100 ms of samples.
    private var urgentThreshold: Double { 0.035 + 2 * delay.jitter }

    mutating func judgeQueue(now: MediaTime) {
        guard let (queue, sentSince) = delay.queue(now: now) else { return }
        if congestion == nil {
            let latest = delay.latestQueue ?? 0
            if queue > threshold || latest > urgentThreshold {
                begin(queue: max(queue, latest), carried: delivered.rate(over: 0.1), now: now)
            } else if let slowTrain = trains.slowTrain, slowTrain.rate < 0.5 * allowed - side.rate(now: now),
                slowTrain.seconds > 0.015 + 3 * delay.jitter,
                delay.newestQueue ?? 0 > threshold
            {
                // One stretched train is enough to see that the path's rate has collapsed.
                begin(queue: delay.newestQueue ?? queue, carried: slowTrain.rate, now: now)
            } else {
                delay.learnJitter(above: queue)
            }
            return
        }
        drain(queue: queue, sentSince: sentSince, now: now)
    }

    private mutating func begin(queue: Double, carried: Double?, now: MediaTime) {
        noteCongestion()
        let before = trial.cancel().map { min($0, highest) } ?? allowed
        // If the rate of delivery isn't known, the trains' or the allowed rate is assumed; the congestion window limits
        // what is sent.
        let carried = max(Self.leastCarried, carried ?? trains.rate ?? frameRate(now: now))
        // A path that loses much at random delivers less than its trains tell for that reason.
        if losses.share < Self.mostMisledLoss, trains.isFresh(now: now), let train = trains.rate, allowed > carried {
            growth.congested(carried: carried, train: train, now: now)
        }
        congestion = Congestion(
            deliveryRate: carried, rateBefore: before, queue: queue, measuredAt: now, sent: flight.sent,
            inFlight: flight.inFlight)
        lower(to: carried, now: now)
    }

    /// `carried`: the rate of delivery of frames in bits a second.
    private mutating func lower(to carried: Double, now: MediaTime) {
        let all = carried + side.rate(now: now)
        let next = max(Self.leastRate, 0.9 * all)
        if next < allowed { allowed = next }
        if trains.isStretched, let train = trains.rate, abs(train - carried) < 0.2 * carried {
            growth.distrustsTrains = false
        }
        trains.restart(at: carried)
        growth.congested(at: all)
        forgetLosses(now: now)
    }

    private mutating func drain(queue: Double, sentSince: MediaTime, now: MediaTime) {
        guard var state = congestion else { return }
        if queue < threshold / 2 {
            congestion = nil
            forgetLosses(now: now)
            growth.restart(now: now)
            return
        }
        if queue > state.queue + 0.005, let carried = delivered.rate(over: 0.1, isPatient: true),
            carried < state.deliveryRate
        {
            // The queue grows, so the path is full: it carries what is delivered now.
            state.deliveryRate = max(Self.leastRate, carried)
            state.queue = queue
            state.measuredAt = now
            state.sent = flight.sent
            state.inFlight = flight.inFlight
            state.drained = nil
            lower(to: carried, now: now)
        }
        if state.drained == nil, state.expectedQueue(sent: flight.sent, now: now) < 0.3 * state.queue {
            state.drained = now
        }
        congestion = state
        if let drained = state.drained, sentSince > drained, queue > max(threshold, 0.6 * state.queue) {
            // A queue of this stream would have drained by now. So the path itself has become longer: take the delay as
            // its new base.
            delay.rebase(by: queue)
            rtt.rebase(by: queue)
            congestion = nil
            allowed = min(highest, max(allowed, state.rateBefore))
            growth.restart(now: now)
        }
    }
}
