import BeamMedia
import BeamWire

/// What this device remembers of a member's links, beyond each of them: so that neither of two opens links without pause,
/// whatever the other one does, and a new link isn't a new budget.
struct LinkHistory: Sendable {
    /// How often it has broken the rules, and when it did last.
    private(set) var violations = 0
    private var lastViolation = MediaTime.distantPast
    /// How often in a row it was turned away because the room is full.
    private var fullTimes = 0
    /// This device refuses its links until then.
    private(set) var refusedUntil = MediaTime.distantPast
    private(set) var reason = MeshPause.Reason.other
    /// It has said that it refuses this device's links until then.
    private(set) var refusesUntil = MediaTime.distantPast
    /// Links that it has opened: honest members open one after a loss, and a few when a network comes and goes.
    private var arrivals = TokenBucket(
        capacity: MeshLimits.burstLinks, bitsPerSecond: MeshLimits.linksPerSecond * 8)
    /// There was a link to it: it is dialled before those that nobody has met.
    var wasUp = false
    var budget = LinkBudget()
    /// When the person may be told again that it refuses this device's links.
    private var nextTold = MediaTime.distantPast

    /// Before that it isn't dialled.
    var earliestDial: MediaTime { max(refusedUntil, refusesUntil) }

    /// It has broken the rules. Returns for how long its links are refused.
    mutating func violated(now: MediaTime) -> MeshPause {
        if lastViolation.isOlder(than: MeshLimits.violationMemory, now: now) { violations = 0 }
        let pause = MeshLimits.violationPauses[min(violations, MeshLimits.violationPauses.count - 1)]
        violations += 1
        lastViolation = now
        return refuse(.violation, pause, now: now)
    }

    /// There is no place for it.
    mutating func full(now: MediaTime) -> MeshPause {
        let pause = MeshLimits.fullPauses[min(fullTimes, MeshLimits.fullPauses.count - 1)]
        fullTimes += 1
        return refuse(.full, pause, now: now)
    }

    /// There is a place again.
    mutating func hasPlace(now: MediaTime) {
        fullTimes = 0
        if reason == .full { refusedUntil = min(refusedUntil, now) }
    }

    private mutating func refuse(_ reason: MeshPause.Reason, _ pause: Duration, now: MediaTime) -> MeshPause {
        self.reason = reason
        refusedUntil = max(refusedUntil, now + pause)
        return MeshPause(reason, refusedUntil - now)
    }

    /// It has opened a link. Returns for how long it is refused; nil: it isn't.
    mutating func arrived(now: MediaTime) -> MeshPause? {
        if refusedUntil > now { return MeshPause(reason, refusedUntil - now) }
        guard arrivals.take(1, now: now) != nil else { return nil }
        return refuse(.tooMany, MeshLimits.tooManyPause, now: now)
    }

    /// It refuses this device's links.
    mutating func refuses(_ pause: MeshPause, now: MediaTime) { refusesUntil = now + pause.duration }

    /// Whether the person is told of that: not each time.
    mutating func mayTell(now: MediaTime) -> Bool {
        guard nextTold <= now else { return false }
        nextTold = now + MeshLimits.refusalPause
        return true
    }
}

extension MediaTime {
    fileprivate func isOlder(than age: Duration, now: MediaTime) -> Bool {
        self == .distantPast || now - self > age
    }
}
