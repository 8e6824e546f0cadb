import BeamMedia

/// Limits how often a value that a peer announces (whether it shares, its media port, in which size it shows the picture)
/// is passed on. The first change is passed on at once. Later ones wait until `pause` has gone by, and only the newest of
/// them is passed on. So a host that changes the value without end costs the person two lines a second, and the viewer two
/// sockets.
struct Announcement<Value: Hashable & Sendable>: Sendable {
    private static var pause: Duration { .milliseconds(500) }

    private var lastPassedOn: Value?
    private var waiting: Value?
    private var quietUntil: MediaTime?

    /// When to call `deadlineReached`; nil while no value waits.
    var deadline: MediaTime? { waiting == nil ? nil : quietUntil }

    /// Takes in what the host says. Returns the value to pass on now, nil if it isn't new or has to wait.
    mutating func received(_ value: Value, now: MediaTime) -> Value? {
        if let quietUntil, now < quietUntil {
            waiting = value
            return nil
        }
        // One that still waits is older.
        waiting = nil
        return passOn(value, now: now)
    }

    mutating func deadlineReached(now: MediaTime) -> Value? {
        guard let value = waiting, let quietUntil, quietUntil <= now else { return nil }
        waiting = nil
        return passOn(value, now: now)
    }

    /// A new session: its first value counts as a change unless it is `value`. The pause goes on.
    mutating func forget(as value: Value? = nil) {
        lastPassedOn = value
        waiting = nil
    }

    private mutating func passOn(_ value: Value, now: MediaTime) -> Value? {
        guard value != lastPassedOn else { return nil }
        lastPassedOn = value
        quietUntil = now + Self.pause
        return value
    }
}
