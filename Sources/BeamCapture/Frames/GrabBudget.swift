import BeamMedia

/// Limits how often the screen is grabbed: on average at the frame rate, but without delay whenever possible.
///
/// A fixed timer would beat against the screen's refresh. With content at 60.1 Hz and at most 60 grabs per second, each
/// grab would come a little later after its change than the one before, by up to a frame, until one is skipped: half a
/// frame of delay on average. So grabs may follow each other 25 % faster than the frame rate, as long as credit is
/// left. When the credit is used up:
///
/// - A screen slightly faster than the rate has one change skipped, which refills the credit.
/// - A much faster screen is grabbed at the frame rate.
/// - If the credit was used up for another reason, grabs can fall into step with a screen of about the same rate, each
///   late by the same amount. Skipping one change breaks the lock.
struct GrabBudget: Sendable {
    /// The largest credit, in grabs.
    private static let capacity = 2.0
    /// The shortest time between two grabs, in intervals.
    private static let minimumSpacing = 0.75
    /// The lock is detected when this many changes in a row wait, each at the same time after its grab to within
    /// `difference` intervals.
    private static let lockDetection = (difference: 0.05, count: 3)
    /// Added to the time at which the next change is expected, so that its jitter doesn't make it miss the grab; in
    /// intervals.
    private static let tolerance = 0.02

    private let interval: Double
    /// The credit left after the last grab, in grabs.
    private var credit = capacity
    private var last: MediaTime?
    /// The shortest time from the last grab to the next, in intervals.
    private var spacing = minimumSpacing
    /// For the last change that had to wait: its time after the grab before it, in intervals, and how many before it
    /// were alike.
    private var wait: (gap: Double, count: Int)?

    init(interval: Duration) { self.interval = Double(max(1, interval.inNanoseconds)) }

    /// When the next grab is allowed; in the past if it is allowed now.
    var due: MediaTime {
        guard let last else { return .zero }
        return last + .nanoseconds(Int64((spacing * interval).rounded(.up)))
    }

    /// A change has been reported. Called once per grab, before it.
    mutating func changed(now: MediaTime) {
        guard let last else { return }
        let gap = Double((now - last).inNanoseconds) / interval
        if credit + gap >= 1 {
            spacing = Self.minimumSpacing
            wait = nil
        } else if gap >= Self.minimumSpacing {
            spacing = 2
            wait = nil
        } else {
            let isSimilar = wait.map { abs($0.gap - gap) < Self.lockDetection.difference } ?? false
            let count = isSimilar ? (wait?.count ?? 0) + 1 : 0
            wait = (gap, count)
            spacing = count < Self.lockDetection.count ? 1 : 1 + gap + Self.tolerance
        }
    }

    mutating func grabbed(now: MediaTime) {
        if let last { credit = min(Self.capacity, credit + Double((now - last).inNanoseconds) / interval) }
        credit -= 1
        last = now
        spacing = Self.minimumSpacing
    }
}
