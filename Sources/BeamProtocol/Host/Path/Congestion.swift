import BeamMedia

/// A queue that stands, from when it was seen until it has drained.
struct Congestion: Sendable {
    /// What the path was seen to deliver, in bits a second.
    var carried: Double
    /// The rate before.
    var before: Double
    /// The queue when `carried` was seen, in seconds, and when that was.
    var queue: Double
    var seen: MediaTime
    /// Bytes that had left by then, and those of them that were on their way.
    var sent: Int64
    var inFlight: Int
    /// What is sent from then on would meet no queue, if it were ours.
    var drained: MediaTime?

    /// The queue that there may be at most, in seconds: what came in less what went out. All that was on its way may have
    /// stood in it.
    func expectedQueue(sent: Int64, now: MediaTime) -> Double {
        let backlog = Double(Int64(inFlight) + sent - self.sent) * 8 / carried
        return max(queue, backlog) - (now - seen).inSeconds
    }
}

extension PathControl {
    /// In bits a second: a path that seems to carry nothing at all still gets its queue drained some day.
    private static let leastCarried = 8000.0
    /// A queue is felt from there on, in seconds.
    private var threshold: Double { 0.02 + delay.jitter / 2 }
    /// A queue that need not stand for long to be believed.
    private var alarm: Double { 0.035 + 2 * delay.jitter }

    mutating func judgeQueue(now: MediaTime) {
        guard let (queue, sentSince) = delay.queue(now: now) else { return }
        if congestion == nil {
            let latest = delay.latestQueue ?? 0
            if queue > threshold || latest > alarm {
                begin(queue: max(queue, latest), carried: delivered.rate(over: 0.1), now: now)
            } else if let slowTrain = trains.slowTrain, slowTrain.rate < 0.5 * allowed,
                slowTrain.seconds > 0.015 + 3 * delay.jitter,
                delay.newestQueue ?? 0 > threshold
            {
                // One frame is enough to see a path collapse.
                begin(queue: delay.newestQueue ?? queue, carried: slowTrain.rate, now: now)
            } else {
                delay.learnJitter(above: queue)
            }
            return
        }
        drain(queue: queue, sentSince: sentSince, now: now)
    }

    private mutating func begin(queue: Double, carried: Double?, now: MediaTime) {
        let before = trial.cancel().map { min($0, highest) } ?? allowed
        // Without a figure there is nothing to fall to: little leaves until there is one.
        let carried = max(Self.leastCarried, carried ?? trains.rate ?? allowed)
        congestion = Congestion(
            carried: carried, before: before, queue: queue, seen: now, sent: flight.sent, inFlight: flight.inFlight)
        lower(to: carried, now: now)
    }

    private mutating func lower(to carried: Double, now: MediaTime) {
        let next = max(Self.leastRate, 0.9 * carried)
        if next < allowed { allowed = next }
        if trains.isStretched, let train = trains.rate, abs(train - carried) < 0.2 * carried {
            growth.distrustsTrains = false
        }
        trains.restart(at: carried)
        growth.congested(at: carried)
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
            carried < state.carried
        {
            // It grows: what arrives meanwhile is what the path carries.
            state.carried = max(Self.leastRate, carried)
            state.queue = queue
            state.seen = now
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
            // It would be gone if it were ours: the way has become longer.
            delay.rebase(by: queue)
            rtt.rebase(by: queue)
            congestion = nil
            allowed = min(highest, max(allowed, state.before))
            growth.restart(now: now)
        }
    }
}
