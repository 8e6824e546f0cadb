import BeamMedia

/// Checks that the viewer's clock in its reports runs like this machine's.
///
/// The viewer's clock has any offset, but between two reports it advances by as much as the host's, give or take the
/// difference of their delays. If it doesn't, the viewer's machine has slept or the report is false. In both cases
/// transit times can't be derived from it.
struct ReportClock: Sendable {
    enum Verdict: Sendable {
        case consistent
        /// The clock has jumped: what was learnt from its earlier times is void.
        case jumped
    }

    /// How much more than the one before a report may be delayed. Paths over which a screen can be watched delay less.
    private static let longestDelay = Duration.seconds(10)
    /// The drift allowed between the two clocks, 1e-4 (100 ppm), as a divisor; and the tolerance for rounding to µs.
    private static let driftDivisor = 10_000
    private static let rounding = Duration.milliseconds(1)

    /// The times of the last report by the viewer's clock and by ours.
    private var last: (theirs: MediaTime, ours: MediaTime)?

    /// Takes the clock of a report. Reports come in order, which the counter of their seal ensures.
    mutating func judge(_ clock: MediaTime, now: MediaTime) -> Verdict {
        defer { last = (theirs: clock, ours: now) }
        guard let last else { return .consistent }
        let theirs = clock - last.theirs
        let ours = now - last.ours
        guard theirs >= .zero, theirs <= ours + ours / Self.driftDivisor + Self.longestDelay,
            ours <= theirs + theirs / Self.driftDivisor + Self.longestDelay
        else { return .jumped }
        return .consistent
    }

    /// Whether something that left at `sent` can have arrived `age` before the present report: not if that is before it
    /// left.
    static func isPossible(age: Duration, sent: MediaTime, now: MediaTime) -> Bool {
        let elapsed = now - sent
        return age <= elapsed + elapsed / Self.driftDivisor + Self.rounding
    }
}
