import BeamMedia

/// Maps the samples of a sound card's stream to times on the monotonic clock, evenly, from observations that jitter.
///
/// A delay-locked loop of second order (F. Adriaensen, "Using a DLL to filter time", 2005): it learns the offset and the
/// rate of the card's clock. Its bandwidth falls with its age, so that it settles within seconds and is calm afterwards.
/// The core of it reads no clock.
public struct SampleClock: Sendable {
    /// An observation that differs by more isn't jitter. So many in a row begin anew.
    private static let tolerance = 0.020
    private static let outliersToRestart = 3
    /// In radians a second: it forgets within about 8 s.
    private static let leastBandwidth = 0.125
    /// The bandwidth is this divided by the age. With less, errors of the beginning would fade slowly: as the age to the
    /// power of -0.2 with 1, of -1.6 with 3.
    private static let firstBandwidth = 3.0
    /// Before that the offset alone is learnt.
    private static let ageToLearnRate = 1.0
    /// With `followsPauses`, once the clock is as old as `ageToTellPauses` (seconds): an observation is an outlier if its error
    /// is larger than this, and larger than `usualErrors` times the usual error.
    private static let pause = 0.003
    private static let usualErrors = 4.0
    private static let ageToTellPauses = 5.0
    /// The usual error is the mean of so many.
    private static let errorCount = 64.0
    /// After a pause the offset is the mean of so many observations. One alone is wrong by up to a step of the server.
    private static let settlingCount = 16
    /// Crystals are within 100 ppm, system clocks are slewed by 500 ppm at most.
    private static let mostDrift = 0.001

    /// A point of the line: `position` is at `time`, in seconds after `start`.
    private var position: Int64 = 0
    private var time = 0.0
    private var start: MediaTime?
    /// Seconds a second by which the card's time is slower than the monotonic clock's.
    private var drift = 0.0
    /// Seconds of sound since the start.
    private var age = 0.0
    private var outliers = 0
    /// The outlier that is nearest to the line, of those in a row on one side of it.
    private var leastOutlier: Double?
    private var usualError = 0.0
    /// Observations since the last pause, `settlingCount` at most.
    private var sincePause = settlingCount
    private let followsPauses: Bool

    /// How often the clock has begun anew, because the stream has jumped.
    public private(set) var restarts = 0

    /// - Parameter followsPauses: when the card has paused for some ms, the line is moved to the new times at once. That suits
    ///   playing. Otherwise the line moves there within some 10 s, which suits recording: the samples are one continuous
    ///   sound, and their times mustn't jump.
    public init(followsPauses: Bool = false) { self.followsPauses = followsPauses }

    /// The stream has run dry: what follows is later than expected, by a time that the next observations tell. The card's
    /// rate stays.
    public mutating func pause() {
        forgetOutliers()
        sincePause = 0
    }

    /// There was a pause, and the more often the clock is observed now, the sooner it is right again.
    public var isSettling: Bool { sincePause < Self.settlingCount }

    /// How much faster the card is than the monotonic clock, in parts per million.
    public var partsPerMillion: Double { -drift * 1e6 }

    /// `position` (samples since the stream's beginning, never less than before) was seen to be at `observed`. False if
    /// that is far from what was expected, and the next observations will show whether the stream has jumped.
    @discardableResult public mutating func observe(_ position: Int64, at observed: MediaTime) -> Bool {
        guard let start else {
            begin(position, observed)
            return true
        }
        let elapsed = Double(max(0, position - self.position)) / Double(SoundBlock.sampleRate)
        let predicted = time + elapsed * (1 + drift)
        let error = (observed - start).inSeconds - predicted
        guard abs(error) <= outlier else {
            // Outliers on both sides of the line tell nothing of where it is.
            if let leastOutlier, error * leastOutlier < 0 { forgetOutliers() }
            outliers += 1
            let least = leastOutlier.map { abs($0) < abs(error) ? $0 : error } ?? error
            leastOutlier = least
            guard outliers >= Self.outliersToRestart else { return false }
            if abs(least) <= Self.tolerance {
                time += least
                forgetOutliers()
                sincePause = 1
            } else {
                restarts += 1
                begin(position, observed)
            }
            return true
        }
        forgetOutliers()
        if isSettling {
            sincePause += 1
            self.position = max(self.position, position)
            time = predicted + error / Double(sincePause)
            return true
        }
        usualError += (abs(error) - usualError) / Self.errorCount
        age += elapsed
        let bandwidth = max(Self.leastBandwidth, Self.firstBandwidth / max(age, 0.05))
        // A long step must not overshoot.
        let step = min(elapsed, 0.25 / bandwidth)
        self.position = max(self.position, position)
        time = predicted + 2.0.squareRoot() * bandwidth * step * error
        if age > Self.ageToLearnRate {
            drift = min(max(drift + bandwidth * bandwidth * step * error, -Self.mostDrift), Self.mostDrift)
        }
        return true
    }

    /// What is further from the line isn't jitter.
    private var outlier: Double {
        guard followsPauses, !isSettling, age > Self.ageToTellPauses else { return Self.tolerance }
        return min(max(Self.pause, Self.usualErrors * usualError), Self.tolerance)
    }

    private mutating func forgetOutliers() {
        outliers = 0
        leastOutlier = nil
    }

    /// When a sample is; nil before the first observation.
    public func time(of position: Int64) -> MediaTime? {
        start.map {
            let elapsed = Double(position - self.position) / Double(SoundBlock.sampleRate)
            return $0 + .seconds(clamping: time + elapsed * (1 + drift))
        }
    }

    private mutating func begin(_ position: Int64, _ observed: MediaTime) {
        let count = restarts
        // The card is the same one: its rate stays.
        let drift = drift
        self = SampleClock(followsPauses: followsPauses)
        restarts = count
        self.drift = drift
        self.position = position
        start = observed
    }
}
