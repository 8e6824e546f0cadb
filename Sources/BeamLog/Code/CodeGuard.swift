import BeamMedia

/// Limits guesses at the code: after five wrong tries the next one has to wait, and each further one longer.
///
/// A try is the check of a viewer's proof (CPace's Ta). Before that nothing has been tested, and the check is one step: so
/// tries that come together are looked at one after another, and each wrong one counts before the next is looked at. A
/// right one changes nothing: whoever guesses gains no try by it that others get in.
package struct CodeGuard: Sendable {
    /// Wrong tries before the first pause.
    static let freeTries = 5
    /// The longest pause. Pauses begin at 1 s and double.
    static let longestPause = Duration.seconds(60)
    /// One wrong try is forgotten after this time. It is longer than the longest pause, so that whoever goes on guessing
    /// gains nothing by it; and a class is rid of its typing errors after a while.
    static let forgetting = Duration.seconds(120)
    /// Further wrong tries don't make the pause longer.
    static let mostCounted = freeTries + 6

    /// Wrong tries that count.
    private(set) var wrongTries = 0
    /// When the first of them began to count, or the last one was forgotten.
    private var since = MediaTime.zero
    /// When the next try is accepted.
    private var blockedUntil: MediaTime?

    package init() {}

    /// The rest of the pause; nil if a try is accepted now.
    package func pause(now: MediaTime) -> Duration? {
        guard let blockedUntil, blockedUntil > now else { return nil }
        return blockedUntil - now
    }

    /// Wrong tries that count now.
    func counted(now: MediaTime) -> Int {
        var copy = self
        copy.forget(now: now)
        return copy.wrongTries
    }

    /// A try was wrong.
    package mutating func failed(now: MediaTime) {
        forget(now: now)
        if wrongTries == 0 { since = now }
        wrongTries = min(wrongTries + 1, Self.mostCounted)
        guard wrongTries >= Self.freeTries else { return }
        // 1, 2, 4 … 60 s.
        let pause = min(.seconds(1 << (wrongTries - Self.freeTries)), Self.longestPause)
        blockedUntil = max(blockedUntil ?? now, now + pause)
    }

    /// Another one counts for the same code, and has told what it has counted.
    package mutating func learn(wrongTries: Int, pause: Duration, now: MediaTime) {
        forget(now: now)
        let told = min(max(0, wrongTries), Self.mostCounted)
        if told > self.wrongTries {
            if self.wrongTries == 0 { since = now }
            self.wrongTries = told
        }
        guard pause > .zero else { return }
        blockedUntil = max(blockedUntil ?? now, now + min(pause, Self.longestPause))
    }

    private mutating func forget(now: MediaTime) {
        while wrongTries > 0, now - since >= Self.forgetting {
            wrongTries -= 1
            since = since + Self.forgetting
        }
    }
}
