import BeamMedia

/// How far this machine is behind with what it has to send, in about the last quarter of a second. Whoever drives a
/// session measures it: the session has no clock. Nothing in it comes from a viewer.
public struct MachineLoad: Sendable, Hashable {
    /// How late what was due was done, at most: 0 or more.
    public var lateness: Duration
    /// The share of the time, 0 to 1, for which the thread that sends had something to do.
    public var busy: Double

    public init(lateness: Duration, busy: Double) {
        self.lateness = max(.zero, lateness)
        self.busy = busy.isFinite ? min(1, max(0, busy)) : 1
    }
}

/// What a host sends less of because its machine can't send everything. In this order: each step includes the ones before.
public enum Shedding: String, Sendable, CaseIterable, Comparable {
    case nothing
    /// The viewers get a lower bit rate.
    case rate
    /// And fewer frames.
    case frames
    /// And nobody else is let in.
    case places

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (one: Shedding, other: Shedding) -> Bool { one.order < other.order }
}
