import BeamMedia
import BeamSession

/// Measures how far an event loop is behind with what it sends: how late it does what was due, and for which share of the
/// time it works.
///
/// Reading is left out: its time is subtracted from both. Otherwise a flood at the media port would lower what all viewers
/// get.
///
/// A value without a clock. It makes a measurement at the end of work once `window` has passed, so that a loop that rests
/// isn't woken for it.
struct LoadMeter {
    static let window = Duration.milliseconds(250)
    /// Reading takes about as much time in the system as here, which only its lateness shows.
    private static let readingInAll = 2

    private var began: MediaTime?
    private var workBegan: MediaTime?
    private var readBegan: MediaTime?
    private var worked = Duration.zero
    private var read = Duration.zero
    private var worst = Duration.zero

    /// Something that was due at `time` is done at `now`.
    mutating func due(_ time: MediaTime, now: MediaTime) { worst = max(worst, now - time) }

    /// What has arrived is read, until `begin`.
    mutating func beginReading(now: MediaTime) {
        if began == nil { began = now }
        if workBegan == nil, readBegan == nil { readBegan = now }
    }

    /// Work begins, unless it goes on.
    mutating func begin(now: MediaTime) {
        if began == nil { began = now }
        if let readBegan { read += now - readBegan }
        readBegan = nil
        if workBegan == nil { workBegan = now }
    }

    /// Work ends. The load since the last measurement, if that was long enough ago.
    mutating func end(now: MediaTime) -> MachineLoad? {
        guard let workBegan, let began else { return nil }
        worked += now - workBegan
        self.workBegan = nil
        let span = now - began
        guard span >= Self.window else { return nil }
        defer { (self.began, worked, read, worst) = (now, .zero, .zero, .zero) }
        return MachineLoad(lateness: worst - read * Self.readingInAll, busy: worked / span)
    }
}
