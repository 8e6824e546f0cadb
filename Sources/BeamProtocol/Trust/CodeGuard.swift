import BeamMedia

/// Makes guessing the code slow: after five tries without success the next has to wait, and the one after that for
/// longer.
///
/// A try counts from its first message until it succeeds, so that many at once are many.
struct CodeGuard: Sendable {
    enum Verdict: Hashable, Sendable {
        case go
        /// Nobody's try is looked at for so long.
        case wait(Duration)
    }

    /// Tries without success that cost nothing.
    static let free = 5
    static let longestPause = Duration.seconds(60)

    private var failures = 0
    /// When the next try is looked at.
    private var reopening: MediaTime?

    /// Somebody begins to prove that he knows the code.
    mutating func begin(now: MediaTime) -> Verdict {
        if let pause = pause(now: now) { return .wait(pause) }
        failures += 1
        if failures >= Self.free {
            // 1, 2, 4 … 60 s.
            let doublings = min(failures - Self.free, 6)
            reopening = now + min(.seconds(1 << doublings), Self.longestPause)
        }
        return .go
    }

    /// Somebody has proved it: those before him were clumsy.
    mutating func succeeded() {
        failures = 0
        reopening = nil
    }

    /// How long nobody's try is looked at; nil: it is.
    func pause(now: MediaTime) -> Duration? {
        guard let reopening, reopening > now else { return nil }
        return reopening - now
    }
}
