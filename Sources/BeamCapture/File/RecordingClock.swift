import BeamMedia

/// When which picture of a recording is due: as far behind the one before as their timestamps lie apart.
struct RecordingClock {
    /// A gap longer than this is a break in the timestamps, not a picture that stands.
    static let longestGap = 60_000_000_000 as Int64
    /// Later than this, the rest of the recording is delayed instead of hurried through.
    static let mostLate = Duration.seconds(1)

    /// Where timestamps don't say: between pictures without any, and from a recording's last picture to its first.
    private let interval: Duration
    private(set) var due = MediaTime.zero
    private var previous: Int64?

    /// `frameRate`: pictures a second.
    init(frameRate: Double) {
        interval = .nanoseconds(Int64((1_000_000_000 / max(0.01, min(1000, frameRate))).rounded()))
    }

    /// The picture with `timestamp` (nanoseconds) is shown at `now`, whatever was before.
    mutating func restart(_ timestamp: Int64?, at now: MediaTime) {
        due = now
        previous = timestamp
    }

    /// The next picture's due time.
    ///
    /// - Parameter beginsAgain: it is the recording's first, after its last.
    mutating func advance(_ timestamp: Int64?, beginsAgain: Bool, now: MediaTime) -> MediaTime {
        var step = interval
        if !beginsAgain, let timestamp, let previous {
            let (gap, overflow) = timestamp.subtractingReportingOverflow(previous)
            if !overflow, gap > 0, gap <= Self.longestGap { step = .nanoseconds(gap) }
        }
        previous = timestamp
        due = due + step
        if now > due + Self.mostLate { due = now }
        return due
    }
}
