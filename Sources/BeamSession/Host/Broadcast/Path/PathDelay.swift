import BeamMedia

/// One-way delays: the path's base delay, and the queueing delay above it.
///
/// The offset of the viewer's clock is unknown; it is in every sample and in the base alike, so it cancels out. The
/// base is the minimum of the last 10 s (LEDBAT, RFC 6817, keeps minima of several minutes): short enough that a clock
/// drift of 1e-4 adds 1 ms at most. The queueing delay is the minimum of about 100 ms above the base: jitter delays
/// single datagrams, a queue delays all of them (LEDBAT filters its current delay by a minimum of a few samples, too).
struct PathDelay: Sendable {
    private struct Sample: Sendable {
        var seen = MediaTime.zero
        var sent = MediaTime.zero
        /// In seconds, including the offset between the clocks.
        var delay = 0.0
    }

    /// The base is the minimum of ten steps of this length; the queueing delay is the minimum of `recent`.
    private static let historyStep = Duration.seconds(1)
    private static let recent = Duration.milliseconds(100)
    /// The least number of samples for a queueing delay, however old they are.
    private static let fewestSamples = 4

    /// The most jitter that is learnt, in seconds. Bounded, because the congestion window and the thresholds grow with
    /// it.
    private static let mostJitter = 0.25

    private var samples = Ring<Sample>(capacity: 48, filler: Sample())
    private var history = Ring<Double>(capacity: 10, filler: 0)
    private var historyBegan = MediaTime.zero
    private(set) var base: Double?
    /// Jitter: how far a sample lies above the minimum of its time on average, in seconds. Some is assumed at the
    /// start.
    private(set) var jitter = 0.01

    /// A datagram left at `sent` by this machine's clock and arrived at `arrived` by the viewer's.
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

    /// The queueing delay in seconds, and when the oldest datagram that it was measured on had left; nil without enough
    /// samples.
    func queue(now: MediaTime) -> (delay: Double, sentSince: MediaTime)? {
        guard let base, samples.count >= Self.fewestSamples else { return nil }
        var least = Double.infinity
        var sent = MediaTime.distantFuture
        for back in 0..<samples.count {
            let sample = samples[back: back]
            if back >= Self.fewestSamples, now - sample.seen > Self.recent { break }
            least = min(least, sample.delay)
            sent = min(sent, sample.sent)
        }
        return (max(0, least - base), sent)
    }

    /// The queueing delay by the three newest samples, in seconds: quick to show a queue too long to be jitter.
    var latestQueue: Double? {
        guard let base, samples.count >= 3 else { return nil }
        return max(0, min(samples[back: 0].delay, samples[back: 1].delay, samples[back: 2].delay) - base)
    }

    /// The queueing delay by the newest sample, in seconds.
    var newestQueue: Double? {
        guard let base, !samples.isEmpty else { return nil }
        return max(0, samples[back: 0].delay - base)
    }

    /// Updates `jitter` with the newest sample. Only to be called while there is no queue.
    mutating func learnJitter(above queue: Double) {
        guard let base, !samples.isEmpty else { return }
        let sample = min(Self.mostJitter, max(0, samples[back: 0].delay - base - queue))
        jitter += (sample - jitter) / 16
    }

    /// Adds `queue` seconds to the base: this delay belongs to the path.
    mutating func rebase(by queue: Double) {
        guard let base else { return }
        history.removeAll()
        history.append(base + queue)
        self.base = base + queue
    }

    /// Discards the samples, for example after a silence; the base stays.
    mutating func forgetSamples() { samples.removeAll() }
}
