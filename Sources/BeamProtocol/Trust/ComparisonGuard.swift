import BeamMedia

/// Counts comparisons that came to nothing, and makes the digits longer when there are many.
///
/// A comparison begins when the person at the host agrees to it, and gives somebody in the middle one chance in a million that both
/// screens show the same digits; nothing is tried without a person's word. After `short` failures within a day nine digits are
/// compared instead of six. Somebody whose person agrees once a second, all day, so has a chance of
/// 12 × 10⁻⁶ + 86,388 × 10⁻⁹ < 10⁻⁴. Nobody has to wait: honest people compare nine digits, at worst.
struct ComparisonGuard: Sendable {
    /// Failures within `memory` after which nine digits are compared.
    static let short = 12
    static let memory = Duration.seconds(86_400)

    /// When the last comparisons failed, `short` of them at most.
    private var failures: [MediaTime] = []

    /// A comparison that the person had agreed to came to nothing: the digits differed, or the viewer left. Answers how many have
    /// within a day, counted up to `short`.
    mutating func failed(now: MediaTime) -> Int {
        forget(now: now)
        if failures.count == Self.short { failures.removeFirst() }
        failures.append(now)
        return failures.count
    }

    /// How many digits the next comparison has.
    mutating func length(now: MediaTime) -> PairingCode.Length {
        forget(now: now)
        return failures.count < Self.short ? .six : .nine
    }

    private mutating func forget(now: MediaTime) { failures.removeAll { now - $0 > Self.memory } }
}
