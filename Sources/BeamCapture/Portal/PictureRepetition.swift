import BeamMedia

/// Says which pictures of a stream need no comparison, because the source sends an old one again.
///
/// KWin 5.27.5, asked for a maximum rate, starts a timer for the first change that comes too early, and never stops it: from
/// then on the last picture comes again and again, at up to that rate. Each has the drawing time of the one before.
/// A changed picture may have that, too, if it is sent before the display has shown it. So only a picture that has come
/// three times without a difference counts as repeated, and even then one of them is compared from time to time.
struct PictureRepetition {
    /// Of the last picture; 0 or less: not said.
    private var drawnAt: Int64 = 0
    /// Comparisons in a row with that time that found no difference.
    private var equalCount = 0
    private var comparedAt = MediaTime.distantPast

    private static let enough = 3
    /// The longest time for which a changed picture with an old time isn't noticed.
    private static let interval = Duration.milliseconds(100)

    /// - Parameter drawnAt: the time that the source gives its picture, in nanoseconds; 0 or less: none.
    mutating func isWorthComparing(drawnAt: Int64, now: MediaTime) -> Bool {
        if drawnAt <= 0 || drawnAt != self.drawnAt {
            self.drawnAt = drawnAt
            equalCount = 0
        }
        guard equalCount < Self.enough || now >= comparedAt + Self.interval else { return false }
        comparedAt = now
        return true
    }

    /// To be called after each comparison.
    mutating func compared(differs: Bool) { equalCount = differs ? 0 : equalCount + 1 }
}
