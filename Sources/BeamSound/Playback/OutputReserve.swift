import BeamMedia

/// How much sound is to wait at a server when more is written: as little as possible, but enough that it doesn't run dry
/// although it takes in steps, and although the writer wakes up late at times.
///
/// A device that needs more runs dry again and again at once. A machine that stands still for a moment now and then is
/// another matter: if each of these moments made the sound later for long, they would add up in a day, and help little
/// against the next one. So what happens alone is given back within minutes, and about one such moment in two minutes
/// is put up with.
struct OutputReserve {
    /// Enough for steps of 2.7 ms.
    private static let least = Duration.milliseconds(3)
    private static let most = Duration.milliseconds(60)
    /// It grows by this if it runs dry once.
    private static let growth = Duration.milliseconds(1)
    /// If it runs dry again within this, the device needs more: it grows by half, and by twice `growth` at least.
    private static let atOnce = Duration.seconds(2)
    /// It shrinks by this, or by a part of what it is above the least if that is more.
    private static let shrinking = Duration.microseconds(500)
    private static let shrinkingPart = 5
    /// The time until it shrinks again. Twice as long each time that it runs dry at once after it has shrunk, which is taken
    /// back then; and half as long each time that it doesn't.
    private static let leastPatience = Duration.seconds(60)
    private static let mostPatience = Duration.seconds(3600)

    private(set) var duration = least
    private var patience = leastPatience
    private var lastDry: MediaTime?
    /// When it last shrank, was seen to be too small, or began to be more than the least.
    private var changed = MediaTime.zero
    /// By how much it shrank then; nil if it didn't.
    private var shrunk: Duration?

    mutating func ranDry(now: MediaTime) {
        defer { lastDry = now }
        if let shrunk, now - changed <= Self.atOnce {
            patience = min(patience * 2, Self.mostPatience)
            grow(by: shrunk)
        } else if let lastDry, now - lastDry <= Self.atOnce {
            grow(by: max(duration / 2, Self.growth * 2))
        } else {
            let isFirst = duration == Self.least
            grow(by: Self.growth)
            // Otherwise it goes on shrinking.
            guard isFirst else { return }
        }
        changed = now
        shrunk = nil
    }

    private mutating func grow(by growth: Duration) { duration = min(duration + growth, Self.most) }

    /// To be called now and then.
    mutating func follow(now: MediaTime) {
        guard duration > Self.least, now - changed >= patience else { return }
        if shrunk != nil { patience = max(patience / 2, Self.leastPatience) }
        let smaller = max(duration - max(Self.shrinking, (duration - Self.least) / Self.shrinkingPart), Self.least)
        shrunk = duration - smaller
        duration = smaller
        changed = now
    }
}
