import BeamMedia

/// Something that a host announces, and may change as often as it likes: whether it shares, its media port. A change is passed on at
/// once; the next one waits until `pause` has gone by, and then only the newest counts. So a host that changes it without end costs
/// the viewer's person two lines a second, and the viewer two sockets.
struct Announcement<Value: Hashable & Sendable>: Sendable {
    private static var pause: Duration { .milliseconds(500) }

    private var passedOn: Value?
    private var waiting: Value?
    private var quietUntil: MediaTime?

    /// When to call `deadlineReached`; nil while nothing waits.
    var deadline: MediaTime? { waiting == nil ? nil : quietUntil }

    /// The host says this. Answers what is to be passed on now, if that is news.
    mutating func came(_ value: Value, now: MediaTime) -> Value? {
        if let quietUntil, now < quietUntil {
            waiting = value
            return nil
        }
        return passOn(value, now: now)
    }

    mutating func deadlineReached(now: MediaTime) -> Value? {
        guard let value = waiting, let quietUntil, quietUntil <= now else { return nil }
        waiting = nil
        return passOn(value, now: now)
    }

    /// A new session: whatever it says is news. The pause goes on.
    mutating func forget() {
        passedOn = nil
        waiting = nil
    }

    private mutating func passOn(_ value: Value, now: MediaTime) -> Value? {
        guard value != passedOn else { return nil }
        passedOn = value
        quietUntil = now + Self.pause
        return value
    }
}
