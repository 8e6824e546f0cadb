import BeamMedia

/// Schedules a recording's pictures by the differences between their timestamps.
struct RecordingClock {
    /// In nanoseconds. A longer gap (one minute) is treated as a break in the timestamps, not as a still picture.
    static let maxGapNanoseconds = 60_000_000_000 as Int64
    /// A picture later than this delays the rest of the recording instead of being caught up.
    static let maxLateness = Duration.seconds(1)

    /// Step between pictures without timestamps, and from the last picture of the recording to its first.
    private let interval: Duration
    private(set) var due = MediaTime.zero
    private var previous: Int64?

    /// - Parameter frameRate: pictures per second.
    init(frameRate: Double) {
        interval = .nanoseconds(Int64((1_000_000_000 / max(0.01, min(1000, frameRate))).rounded()))
    }

    /// Shows the picture with `timestamp` (nanoseconds) at `now`, and schedules the following ones from there.
    mutating func restart(_ timestamp: Int64?, at now: MediaTime) {
        due = now
        previous = timestamp
    }

    /// The next picture's due time.
    ///
    /// - Parameter beginsAgain: it is the first of the recording, after the last.
    mutating func advance(_ timestamp: Int64?, beginsAgain: Bool, now: MediaTime) -> MediaTime {
        var step = interval
        if !beginsAgain, let timestamp, let previous {
            let (gap, overflow) = timestamp.subtractingReportingOverflow(previous)
            if !overflow, gap > 0, gap <= Self.maxGapNanoseconds { step = .nanoseconds(gap) }
        }
        previous = timestamp
        due = due + step
        if now > due + Self.maxLateness { due = now }
        return due
    }
}
