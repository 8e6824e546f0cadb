import BeamMedia

/// The share of datagrams lost before recovery, decaying over about a second.
struct PathLoss: Sendable {
    /// The time constant of the decay, in seconds.
    private static let memory = 1.0
    private var expected = 0.0
    private var lost = 0.0
    private var last: MediaTime?
    private var from = MediaTime(nanoseconds: .min)

    /// 0 to 1.
    var share: Double { min(1, max(0, lost / max(expected, 20))) }
    /// The number of datagrams that `share` is computed from.
    var weight: Double { expected }

    mutating func add(expected: Int, lost: Int, now: MediaTime) {
        guard now >= from else { return }
        if let last {
            let kept = Self.memory / (Self.memory + max(0, (now - last).inSeconds))
            self.expected *= kept
            self.lost *= kept
        }
        last = now
        self.expected += Double(max(0, expected))
        self.lost += Double(min(lost, max(0, expected)))
    }

    /// Discards all counts, and ignores reports until `time`: they are about datagrams that were sent before a change
    /// of rate.
    mutating func forget(until time: MediaTime) {
        expected = 0
        lost = 0
        from = time
    }
}
