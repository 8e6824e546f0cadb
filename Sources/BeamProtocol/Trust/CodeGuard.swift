import BeamMedia

/// Limits guesses at the code: after five failed attempts the next one has to wait, and each further one longer.
///
/// An attempt counts from its first message until it succeeds, so concurrent attempts all count.
struct CodeGuard: Sendable {
    enum Verdict: Hashable, Sendable {
        case go
        /// No attempt is accepted for this long.
        case wait(Duration)
    }

    /// Failed attempts before the first pause.
    static let freeAttempts = 5
    /// The longest pause. Pauses begin at 1 s and double.
    static let longestPause = Duration.seconds(60)

    private var failures = 0
    /// When the next attempt is accepted.
    private var blockedUntil: MediaTime?

    /// An attempt begins.
    mutating func begin(now: MediaTime) -> Verdict {
        if let pause = pause(now: now) { return .wait(pause) }
        failures += 1
        if failures >= Self.freeAttempts {
            // 1, 2, 4 … 60 s.
            let doublings = min(failures - Self.freeAttempts, 6)
            blockedUntil = now + min(.seconds(1 << doublings), Self.longestPause)
        }
        return .go
    }

    /// The code was proved: earlier failures don't count any more.
    mutating func succeeded() {
        failures = 0
        blockedUntil = nil
    }

    /// The rest of the pause; nil if an attempt is accepted now.
    func pause(now: MediaTime) -> Duration? {
        guard let blockedUntil, blockedUntil > now else { return nil }
        return blockedUntil - now
    }
}
