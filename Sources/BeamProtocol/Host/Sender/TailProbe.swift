import BeamMedia

/// When a host tells how far the stream has come though there is no new frame: shortly after the last one, so that its
/// loss is noticed before the next change of the screen.
struct TailProbe: Sendable {
    /// After the last frame: longer than from one moving picture to the next, and once more in case that is lost, too.
    static let pauses: [Duration] = [.milliseconds(40), .milliseconds(160)]

    private var last: MediaTime?
    private var count = 0

    /// When to call `take`; nil while there is nothing to tell.
    var deadline: MediaTime? { last.map { $0 + Self.pauses[count] } }

    /// A frame leaves now.
    mutating func frameSent(now: MediaTime) {
        last = now
        count = 0
    }

    /// True when it is time to tell.
    mutating func take(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        count += 1
        if count == Self.pauses.count { last = nil }
        return true
    }

    mutating func stop() { last = nil }
}
