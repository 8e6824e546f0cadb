import BeamMedia

/// When to ask a compositor for the next copy of an output, and how: at once, or when something has changed.
///
/// wlr-screencopy delivers a copy with the output's next refresh. A copy that waits for damage is delivered with the next
/// refresh for which something has been drawn: what was drawn between two copies doesn't bring about a refresh of its own.
/// So waiting is right only if no refresh can have been missed since the last copy; else the copy is made at once, and if it
/// shows nothing new, the next one waits. ext-image-copy-capture remembers what was drawn, so of it this only keeps the rate.
struct CopySchedule {
    /// How long after a copy a refresh can't be missed yet, if the refresh rate isn't known: half of a period at 120 Hz.
    private static let usualGrace = Duration.milliseconds(4)

    private let interval: Duration
    /// When the next picture would come at exactly the highest rate.
    private var next = MediaTime.zero
    /// When the last copy was made; nil: there is none that counts.
    private var last: MediaTime?

    init(maxFrameRate: Double) {
        interval = .nanoseconds(Int64(1_000_000_000 / min(max(maxFrameRate, 0.1), 1000)))
    }

    /// When the next copy may be asked for. On average pictures don't exceed the rate, but one may come an interval early, so
    /// that a display of the same rate isn't missed every now and then.
    var due: MediaTime { next - interval }

    /// Whether a copy that is asked for now can wait for damage.
    func waitsForDamage(now: MediaTime, refreshRate: Double?) -> Bool {
        guard let last else { return false }
        let grace =
            refreshRate.map { Duration.nanoseconds(Int64(500_000_000 / min(max($0, 1), 1000))) } ?? Self.usualGrace
        return now - last <= grace
    }

    /// A copy was made.
    ///
    /// - Parameter isPicture: it has shown something new.
    mutating func copied(at time: MediaTime, isPicture: Bool) {
        last = time
        if isPicture { next = max(next, time) + interval }
    }

    /// The next copy is to be made at once: nobody has watched for a while, or the output is another one.
    mutating func restart() { last = nil }
}
