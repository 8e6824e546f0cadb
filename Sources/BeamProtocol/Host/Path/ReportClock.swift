import BeamMedia

/// Whether a viewer's reports agree with themselves and with the time that has passed here.
///
/// A viewer's clock has any offset, but it runs as this machine's does: from one report to the next it goes on by as much as here,
/// but for what the second one was delayed more than the first. A clock that doesn't is another one (a viewer's machine has
/// slept), or a lie; neither says how long anything was under way.
struct ReportClock: Sendable {
    enum Verdict: Sendable {
        case consistent
        /// What was learnt by the clock before is worth nothing.
        case jumped
    }

    /// What one report may be delayed more than another: more than any path holds that a picture is watched over.
    private static let longestDelay = Duration.seconds(10)
    /// What crystals may differ by, 1e-4 (100 ppm), as a divisor; and what rounding to µs makes of an instant.
    private static let driftDivisor = 10_000
    private static let rounding = Duration.milliseconds(1)

    private var last: (clock: MediaTime, now: MediaTime)?

    /// A report says that the viewer's clock shows `clock`. It is later than those before it, as its seal's counter says.
    mutating func judge(_ clock: MediaTime, now: MediaTime) -> Verdict {
        defer { last = (clock, now) }
        guard let last else { return .consistent }
        let theirs = clock - last.clock
        let ours = now - last.now
        guard theirs >= .zero, theirs <= ours + ours / Self.driftDivisor + Self.longestDelay,
            ours <= theirs + theirs / Self.driftDivisor + Self.longestDelay
        else { return .jumped }
        return .consistent
    }

    /// Something that left here at `sent` can have arrived so long before the report that comes now: it can't have before it left.
    static func isPossible(age: Duration, sent: MediaTime, now: MediaTime) -> Bool {
        let elapsed = now - sent
        return age <= elapsed + elapsed / Self.driftDivisor + Self.rounding
    }
}
