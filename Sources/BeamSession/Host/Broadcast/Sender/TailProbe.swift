import BeamMedia

/// Schedules the tail probe: after the last frame, or the last exact change, before a pause, the host tells the viewer
/// its number, so that the viewer notices its loss before the screen changes again.
struct TailProbe: Sendable {
    /// After the last frame: longer than the interval of a moving picture; a second time in case the first probe is
    /// lost.
    static let pauses: [Duration] = [.milliseconds(40), .milliseconds(160)]

    /// The same after a change that was sent exactly, whose frame comes much later: once on a path that has lost nothing,
    /// and not between two keys of somebody who types.
    static let changePauses: [Duration] = [.milliseconds(100)]
    static let changePausesWithLoss: [Duration] = [.milliseconds(8), .milliseconds(30)]

    private var last: MediaTime?
    private var pauses = TailProbe.pauses
    private var count = 0

    /// When to call `take`; nil while no probe is due.
    var deadline: MediaTime? { last.map { $0 + pauses[count] } }

    /// A frame is being sent.
    mutating func frameSent(now: MediaTime) { begin(Self.pauses, now: now) }

    /// So is the patch of a change.
    mutating func changeSent(pathLoses: Bool, now: MediaTime) {
        // The probes of a frame tell the number of the last change, too.
        guard pathLoses || last == nil || pauses != Self.pauses else { return }
        begin(pathLoses ? Self.changePausesWithLoss : Self.changePauses, now: now)
    }

    private mutating func begin(_ pauses: [Duration], now: MediaTime) {
        (last, self.pauses, count) = (now, pauses, 0)
    }

    /// True if a probe has to be sent now.
    mutating func take(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        count += 1
        if count == pauses.count { last = nil }
        return true
    }

    mutating func stop() { last = nil }
}
