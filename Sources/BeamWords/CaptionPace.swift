import BeamMedia

/// How fast captions are passed on: what a captioner revises too often is left out, and what it writes too fast waits.
struct CaptionPace {
    /// Partial captions in a second, at most: nobody sees more.
    static let partialsPerSecond = 30
    /// Final captions in a second, at most, after a burst of as many.
    static let finalsPerSecond = 200

    private static let betweenPartials = Duration.seconds(1) / partialsPerSecond
    private static let betweenFinals = Duration.seconds(1) / finalsPerSecond
    private static let burst = Duration.seconds(1)

    struct Partial: Equatable {
        var text: String
        var speaker: String?
    }

    /// The newest partial caption, which waits.
    private(set) var waiting: Partial?
    private var nextPartial = MediaTime.distantPast
    /// When the final captions so far would have been passed on at the usual rate.
    private var paid = MediaTime.distantPast

    /// Replaces the partial caption that waits.
    mutating func replace(_ partial: Partial) { waiting = partial }

    /// The partial caption to be passed on at `now`.
    mutating func take(at now: MediaTime) -> Partial? {
        guard let partial = waiting, now >= nextPartial else { return nil }
        waiting = nil
        nextPartial = now + Self.betweenPartials
        return partial
    }

    /// When `take` has something to give; nil: nothing waits.
    var due: MediaTime? { waiting.map { _ in nextPartial } }

    /// The time until a final caption may be passed on; zero: now, and it is counted. A partial caption of the same speaker
    /// that waits is dropped then.
    mutating func admitFinal(of speaker: String?, at now: MediaTime) -> Duration {
        let delay = paid - now - Self.burst
        guard delay <= .zero else { return delay }
        countLine(at: now)
        if waiting?.speaker == speaker { waiting = nil }
        return .zero
    }

    /// The same for a report of a bad line.
    mutating func admitReport(at now: MediaTime) -> Duration {
        let delay = paid - now - Self.burst
        guard delay <= .zero else { return delay }
        countLine(at: now)
        return .zero
    }

    private mutating func countLine(at now: MediaTime) { paid = max(paid, now) + Self.betweenFinals }
}
