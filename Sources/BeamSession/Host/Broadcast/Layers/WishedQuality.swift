import BeamMedia

/// The most that a viewer wishes to be sent, as it counts at present. A pure value.
struct WishedQuality: Sendable {
    /// Limits how often a change counts.
    private var announced = Announcement<QualityWish>()
    private(set) var current = QualityWish.any

    init() { announced.forget(as: .any) }

    /// When to call `deadlineReached`; nil while nothing waits.
    var deadline: MediaTime? { announced.deadline }

    /// Takes what the viewer says. True if it counts now.
    mutating func received(_ wish: QualityWish, now: MediaTime) -> Bool {
        guard let wish = announced.received(wish, now: now) else { return false }
        current = wish
        return true
    }

    /// True if a change counts from now on.
    mutating func deadlineReached(now: MediaTime) -> Bool {
        guard let wish = announced.deadlineReached(now: now) else { return false }
        current = wish
        return true
    }

    /// It limits rates, not only the size. `bitRate` and `frameRate` are what the full layer has at most.
    func isBelow(bitRate: Int, frameRate: Double) -> Bool {
        current.bitRate ?? .max < bitRate || current.frameRate ?? .infinity < frameRate
    }
}
