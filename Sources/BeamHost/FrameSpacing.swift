import BeamMedia

/// When the next frame may be made, where so many a second are enough. They are as many in the long run, and as even as
/// the source's pictures allow: of 60 a second, every fourth is 15, and 25 are every second and every third in turn.
struct FrameSpacing: Sendable {
    /// Pictures come early or late by up to this share of their interval.
    private static let jitter = 0.4
    /// A picture is kept for no longer than this in case a newer one comes, in seconds.
    private static let longestWait = 0.1

    /// When the next frame would be made if pictures came at any time.
    private(set) var next = MediaTime.zero

    /// A frame was made. `rate`: frames a second; `sourceInterval`: seconds between the source's pictures.
    mutating func made(at time: MediaTime, rate: Double, sourceInterval: Double) {
        let interval = Duration.seconds(clamping: 1 / max(rate, 0.01))
        // A frame that was late is made up for, but not what was left out in a pause.
        next = max(next, time - max(Self.early(sourceInterval), interval / 2)) + interval
    }

    /// When a picture is coded: `fresh` if it comes at that moment, `remembered` if it came before and no newer one has
    /// come.
    func due(sourceInterval: Double) -> (fresh: MediaTime, remembered: MediaTime) {
        (
            next - Self.early(sourceInterval),
            next + .seconds(clamping: min(max(0, sourceInterval), Self.longestWait))
        )
    }

    /// How early a picture may come.
    private static func early(_ sourceInterval: Double) -> Duration {
        .seconds(clamping: min(max(0, sourceInterval), longestWait) * jitter)
    }
}
