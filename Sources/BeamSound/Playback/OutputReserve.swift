import BeamMedia

/// How much sound is left at the server when more is written: as little as possible, but enough that the server doesn't run
/// dry. It takes sound in steps, and the writer's thread may wake up late.
///
/// A server runs dry for one of two reasons. Its device may need a larger reserve: then it runs dry again within a second or
/// so, and the reserve grows fast until that ends. Or the machine has stalled for some ms: then the reserve grows by a little
/// and shrinks again within a minute. If each stall had a longer effect, stalls would add up over a day. If the writer woke up
/// late just before, it was a stall; stalls often come several at a time.
struct OutputReserve {
    /// Enough for steps of 2.7 ms: they need half of that, because the times that the writer goes by are those of a step's
    /// middle. The rest is for waking up late.
    private static let least = Duration.microseconds(2500)
    private static let most = Duration.milliseconds(60)
    /// What a single time of running dry adds.
    private static let growth = Duration.microseconds(500)
    /// If the server runs dry twice within this, the reserve grows by half, and by `leastFastGrowth` at least. Times for which
    /// the writer woke up too late don't count.
    private static let soon = Duration.seconds(2)
    private static let leastFastGrowth = Duration.milliseconds(2)
    /// An underrun within this time of a late wake-up (by half of the reserve or more) is the writer's fault.
    private static let lateReach = Duration.milliseconds(100)
    /// The reserve shrinks by this, or by this part of what it is above `least`, whichever is more.
    private static let leastShrinkage = Duration.microseconds(500)
    private static let shrinkagePart = 5
    /// The time between two shrinkages. It doubles when the server runs dry soon after one, and halves when it doesn't.
    private static let leastPatience = Duration.seconds(60)
    private static let mostPatience = Duration.seconds(3600)

    private(set) var duration = least
    private var patience = leastPatience
    /// When the present wait for the next shrinkage began.
    private var waitingSince = MediaTime.zero
    /// The shrinkage by which that wait began; nil if the reserve grew then.
    private var lastShrinkage: Duration?
    /// When the server last ran dry without the writer being late.
    private var lastDry: MediaTime?
    /// When the writer was last late.
    private var lastLate: MediaTime?

    /// The writer woke up, so much later than it wanted.
    mutating func woke(now: MediaTime, late: Duration) { if late >= duration / 2 { lastLate = now } }

    /// The server ran dry.
    mutating func ranDry(now: MediaTime) {
        let isStall = lastLate.map { now - $0 <= Self.lateReach } ?? false
        let isSecondSoon = !isStall && (lastDry.map { now - $0 <= Self.soon } ?? false)
        if !isStall { lastDry = now }
        if let lastShrinkage, now - waitingSince <= Self.soon {
            patience = min(patience * 2, Self.mostPatience)
            grow(by: lastShrinkage)
        } else if isSecondSoon {
            grow(by: max(duration / 2, Self.leastFastGrowth))
        } else {
            let isWaiting = duration > Self.least
            grow(by: Self.growth)
            // After a stall the wait isn't longer than without.
            if isWaiting { return }
        }
        waitingSince = now
        lastShrinkage = nil
    }

    private mutating func grow(by growth: Duration) { duration = min(duration + growth, Self.most) }

    /// Shrinks the reserve when it is time. To be called now and then.
    mutating func follow(now: MediaTime) {
        guard duration > Self.least, now - waitingSince >= patience else { return }
        if lastShrinkage != nil { patience = max(patience / 2, Self.leastPatience) }
        let shrinkage = max(Self.leastShrinkage, (duration - Self.least) / Self.shrinkagePart)
        let smaller = max(duration - shrinkage, Self.least)
        lastShrinkage = duration - smaller
        duration = smaller
        waitingSince = now
    }
}
