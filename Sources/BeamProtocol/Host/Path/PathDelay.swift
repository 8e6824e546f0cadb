import BeamMedia

/// One-way delays: what the path takes at least, and what a queue adds to it.
///
/// The viewer's clock has an unknown offset, which is in every sample and so in the base, too. The base is the least delay
/// of the last 10 s (LEDBAT, RFC 6817, keeps a history of minima likewise, over minutes): short enough for a drift of 1e-4 to
/// stay at 1 ms. The queue is the least of about 100 ms above the base, as jitter delays single datagrams only, and a queue
/// all of them (LEDBAT filters its current delay with a minimum, too, over a few samples).
struct PathDelay: Sendable {
    private struct Sample: Sendable {
        var seen = MediaTime.zero
        var sent = MediaTime.zero
        /// In seconds, with the clocks' offset.
        var delay = 0.0
    }

    private static let historyStep = Duration.seconds(1)
    private static let recent = Duration.milliseconds(100)
    /// Samples that tell of a queue, however long they took to come.
    private static let fewest = 4

    /// Jitter that is learnt, in seconds: the window and the thresholds grow with it.
    private static let mostJitter = 0.25

    private var samples = Ring<Sample>(capacity: 48, filler: Sample())
    private var history = Ring<Double>(capacity: 10, filler: 0)
    private var historyBegan = MediaTime.zero
    private(set) var base: Double?
    /// How far a sample usually lies above the least of its time, in seconds: jitter. Some of it is taken for granted.
    private(set) var jitter = 0.01

    /// A datagram that left at `sent` on this machine's clock arrived at `arrived` on the other one's.
    mutating func add(sent: MediaTime, arrived: MediaTime, now: MediaTime) {
        let delay = (arrived - sent).inSeconds
        samples.append(Sample(seen: now, sent: sent, delay: delay))
        if history.isEmpty || now - historyBegan >= Self.historyStep {
            history.append(delay)
            historyBegan = now
        } else {
            history[back: 0] = min(history[back: 0], delay)
        }
        base = (0..<history.count).reduce(delay) { min($0, history[back: $1]) }
    }

    /// What the queue adds, in seconds; nil without enough samples. And since when what it was seen on had left.
    func queue(now: MediaTime) -> (delay: Double, sentSince: MediaTime)? {
        guard let base, samples.count >= Self.fewest else { return nil }
        var least = Double.infinity
        var sent = MediaTime.distantFuture
        for back in 0..<samples.count {
            let sample = samples[back: back]
            if back >= Self.fewest, now - sample.seen > Self.recent { break }
            least = min(least, sample.delay)
            sent = min(sent, sample.sent)
        }
        return (max(0, least - base), sent)
    }

    /// The same for the last three samples alone: quick to see a queue that no jitter could make.
    var latestQueue: Double? {
        guard let base, samples.count >= 3 else { return nil }
        return max(0, min(samples[back: 0].delay, samples[back: 1].delay, samples[back: 2].delay) - base)
    }

    /// The same for the newest sample alone.
    var newestQueue: Double? {
        guard let base, !samples.isEmpty else { return nil }
        return max(0, samples[back: 0].delay - base)
    }

    /// Learns what is usual, while there is no queue.
    mutating func learnJitter(above queue: Double) {
        guard let base, !samples.isEmpty else { return }
        let sample = min(Self.mostJitter, max(0, samples[back: 0].delay - base - queue))
        jitter += (sample - jitter) / 16
    }

    /// What was taken for a queue belongs to the path.
    mutating func rebase(by queue: Double) {
        guard let base else { return }
        history.removeAll()
        history.append(base + queue)
        self.base = base + queue
    }

    /// What was seen before says nothing about now.
    mutating func forgetSamples() { samples.removeAll() }
}
