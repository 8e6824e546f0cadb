import BeamMedia

/// Schedules the tail probe: after the last frame before a pause, the host tells the viewer its number, so that the
/// viewer notices its loss before the screen changes again.
struct TailProbe: Sendable {
    /// After the last frame: longer than the interval of a moving picture; a second time in case the first probe is
    /// lost.
    static let pauses: [Duration] = [.milliseconds(40), .milliseconds(160)]

    private var last: MediaTime?
    private var count = 0

    /// When to call `take`; nil while no probe is due.
    var deadline: MediaTime? { last.map { $0 + Self.pauses[count] } }

    /// A frame is being sent.
    mutating func frameSent(now: MediaTime) {
        last = now
        count = 0
    }

    /// True if a probe has to be sent now.
    mutating func take(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        count += 1
        if count == Self.pauses.count { last = nil }
        return true
    }

    mutating func stop() { last = nil }
}
