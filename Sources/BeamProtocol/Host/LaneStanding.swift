import BeamMedia

/// For how long a lane was kept waiting, in all.
struct HeldTime: Sendable {
    /// Of the time that passes, the part that is forgiven: of 60 frames a second one or two. What is held beyond that adds up.
    private static let forgiven = 0.03

    /// It is kept waiting at the moment.
    private(set) var isHolding = false
    private(set) var total = Duration.zero
    private var since: MediaTime?

    /// It is kept waiting from now on, or isn't.
    mutating func holds(_ isHolding: Bool, now: MediaTime) {
        let passed = max(.zero, since.map { now - $0 } ?? .zero)
        if self.isHolding { total += passed }
        total = max(.zero, total - .seconds(clamping: passed.inSeconds * Self.forgiven))
        self.isHolding = isHolding
        since = now
    }

    /// When `total` would be so much if nothing changed; nil while nothing is held.
    func time(of total: Duration) -> MediaTime? {
        guard isHolding, let since else { return nil }
        return since + max(.zero, total - self.total) * 33 / 32
    }
}

/// Which lane suits a viewer: how long it has kept the others of its lane waiting, and when it may come back.
///
/// Both are sums of time, not times since when something has been so: a viewer that is quick for a moment now and then, whatever
/// its rhythm, doesn't begin anew.
struct LaneStanding: Sendable {
    /// Who alone keeps its lane waiting for so long in all has to leave it.
    static let mostHeld = Duration.milliseconds(100)
    /// The same for a guest while all guests together have held for longer than that: who has a new key for each visit gains
    /// nothing by it.
    static let mostHeldByGuest = Duration.milliseconds(20)
    /// Who is far slower than the others for so long has to leave. Half of the time that it isn't counts against that.
    private static let mostSlow = Duration.seconds(1)
    /// How long a viewer has to be fast enough before it comes back; twice as long for each time that it came back in vain.
    private static let firstReturn = Duration.seconds(4)
    private static let mostReturns = 7
    /// Who has stayed in its lane for so long hasn't come back in vain.
    private static let lasting = Duration.seconds(300)

    private var held = HeldTime()
    private var isSlow = false
    private var slow = Duration.zero
    private var slowAt: MediaTime?
    private var fastSince: MediaTime?
    private var returns = 0
    private var returnedAt: MediaTime?
    /// It was moved out of the full lane.
    private(set) var isOut = false

    /// It keeps the others waiting at the moment.
    var isHolding: Bool { held.isHolding }

    /// It holds the others back from now on, or doesn't. True when that has been for `most` in all, and it has to leave.
    mutating func holds(_ isHolding: Bool, most: Duration = mostHeld, now: MediaTime) -> Bool {
        held.holds(isHolding, now: now)
        return held.total >= most
    }

    /// When `holds` would be true if nothing changed; nil while it doesn't hold.
    func deadline(most: Duration) -> MediaTime? { held.time(of: most) }

    /// It is far slower than the others from now on, or isn't. True when it has to leave.
    mutating func isFarSlower(_ isSlow: Bool, now: MediaTime) -> Bool {
        let passed = max(.zero, slowAt.map { now - $0 } ?? .zero)
        slow = max(.zero, self.isSlow ? slow + passed : slow - passed / 2)
        self.isSlow = isSlow
        slowAt = now
        return slow >= Self.mostSlow
    }

    /// It is out, and its path is (not) fast enough for the full lane. True when it may come back.
    mutating func isFastEnough(_ isFast: Bool, now: MediaTime) -> Bool {
        guard isFast else {
            fastSince = nil
            return false
        }
        let since = fastSince ?? now
        fastSince = since
        return now - since >= Self.firstReturn * (1 << min(returns, Self.mostReturns))
    }

    mutating func left(now: MediaTime) {
        if let returnedAt { returns = now - returnedAt > Self.lasting ? 0 : returns + 1 }
        restart()
        isOut = true
    }

    mutating func cameBack(now: MediaTime) {
        returnedAt = now
        restart()
        isOut = false
    }

    private mutating func restart() {
        held = HeldTime()
        isSlow = false
        slow = .zero
        slowAt = nil
        fastSince = nil
    }
}
