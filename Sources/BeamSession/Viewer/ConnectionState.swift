import BeamMedia

/// How dependable a viewer's control connection is.
public enum ConnectionState: String, Sendable, Hashable, CaseIterable {
    /// It is being made, or was made a moment ago.
    case connecting
    /// It has carried traffic both ways for at least 4 s since it was made.
    case stable
    /// It was lost within 5 s of being made, and no connection has been stable since.
    case unstable
}

/// Derives the state of the control connection from when it is made, heard and lost.
struct ConnectionTracker: Sendable {
    private(set) var state = ConnectionState.connecting
    /// When the present connection was made: the host has admitted this viewer. Nil while there is none.
    private var made: MediaTime?

    mutating func made(now: MediaTime) { made = now }

    /// The host has said something that shows that it hears this viewer, too. Returns the state if it has changed.
    mutating func heard(now: MediaTime) -> ConnectionState? {
        guard state != .stable, let made, now - made >= ViewerTiming.stabilityTime else { return nil }
        return change(to: .stable)
    }

    /// The connection has ended unexpectedly.
    mutating func lost(now: MediaTime) -> ConnectionState? {
        guard let made else { return nil }
        self.made = nil
        if now - made < ViewerTiming.stableControl { return change(to: .unstable) }
        return state == .stable ? change(to: .connecting) : nil
    }

    /// The host has ended the connection in order.
    mutating func ended() -> ConnectionState? {
        made = nil
        return state == .stable ? change(to: .connecting) : nil
    }

    private mutating func change(to new: ConnectionState) -> ConnectionState? {
        defer { state = new }
        return state == new ? nil : new
    }
}
