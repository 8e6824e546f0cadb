import BeamMedia

/// How often the screen may be looked at: as often as the frame rate on average, and at once whenever that allows it.
///
/// A clock of its own would beat against the screen's. With content at 60.1 Hz and at most 60 looks a second, each look
/// would come a little later after its change than the one before, by up to a frame, until one is skipped: half a frame of
/// delay on average. So looks may come a quarter closer together than the rate has it, as long as some are saved up for that;
/// when they are used up, a screen that is hardly faster has one of its changes left out, and a much faster one is looked at in step.
/// Where something else used them up, so that looks in step would stay behind a screen of about their rate by always the same
/// time, one change is left out for that, too.
struct LookBudget: Sendable {
    /// Looks that can be saved up.
    private static let capacity = 2.0
    /// How close together looks may come, as a part of the interval.
    private static let closest = 0.75
    /// Changes come about as often as looks when so many in a row come as long after the look before them, but for so much of an
    /// interval.
    private static let likeness = (difference: 0.05, count: 3)
    /// How much of an interval later than foreseen the next of them may come.
    private static let tolerance = 0.02

    private let interval: Double
    /// Looks that were saved up when the last one was taken.
    private var saved = capacity
    private var last: MediaTime?
    /// In intervals since the last look: when the next may be taken.
    private var spacing = closest
    /// When the last change came that had to wait, in intervals since the look before it, and how many have come like it.
    private var wait: (gap: Double, count: Int)?

    init(interval: Duration) { self.interval = Double(max(1, interval.inNanoseconds)) }

    /// When the next look may be taken; in the past if it may now.
    var due: MediaTime {
        guard let last else { return .zero }
        return last + .nanoseconds(Int64((spacing * interval).rounded(.up)))
    }

    /// Something is to be seen from now on. Called once for each look, before it.
    mutating func want(now: MediaTime) {
        guard let last else { return }
        let gap = Double((now - last).inNanoseconds) / interval
        if saved + gap >= 1 {
            spacing = Self.closest
            wait = nil
        } else if gap >= Self.closest {
            spacing = 2
            wait = nil
        } else {
            let isAlike = wait.map { abs($0.gap - gap) < Self.likeness.difference } ?? false
            let count = isAlike ? (wait?.count ?? 0) + 1 : 0
            wait = (gap, count)
            spacing = count < Self.likeness.count ? 1 : 1 + gap + Self.tolerance
        }
    }

    mutating func look(now: MediaTime) {
        if let last { saved = min(Self.capacity, saved + Double((now - last).inNanoseconds) / interval) }
        saved -= 1
        last = now
        spacing = Self.closest
    }
}
