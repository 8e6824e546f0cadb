import BeamMedia

/// How much sound is to wait at a server when more is written: as little as possible, but enough that it doesn't run dry
/// although it takes in steps, and although the writer wakes up late at times.
struct OutputReserve {
    /// Enough for steps of 2.7 ms.
    private static let least = Duration.milliseconds(3)
    private static let most = Duration.milliseconds(60)
    /// Each time it ran dry, it grows by half, and by this at least.
    private static let growth = Duration.milliseconds(2)
    /// It shrinks by this when it hasn't run dry for a while: a minute first, and each time that it ran dry makes that longer.
    private static let shrinking = Duration.microseconds(500)
    private static let firstPatience = Duration.seconds(60)
    private static let mostPatience = Duration.seconds(3600)

    private(set) var duration = least
    private var patience = firstPatience
    private var changed = MediaTime.zero

    mutating func ranDry(now: MediaTime) {
        if duration > Self.least { patience = min(patience * 2, Self.mostPatience) }
        duration = min(duration + max(duration / 2, Self.growth), Self.most)
        changed = now
    }

    /// To be called now and then.
    mutating func follow(now: MediaTime) {
        guard duration > Self.least, now - changed >= patience else { return }
        duration = max(duration - Self.shrinking, Self.least)
        changed = now
    }
}
