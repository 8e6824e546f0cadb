import BeamMedia

/// For how long a member refuses another one's links, which it is told before the link is closed.
public struct MeshPause: Hashable, Sendable {
    public enum Reason: UInt8, Sendable, CaseIterable {
        case other = 0
        /// The other one has broken the rules.
        case violation = 1
        /// As many are in the room as it takes.
        case full = 2
        /// The other one has opened links without pause.
        case tooMany = 3
        /// Links of devices that aren't known here have cost too much time.
        case busy = 4
    }

    public var reason: Reason
    public var duration: Duration

    public init(_ reason: Reason, _ duration: Duration) {
        self.reason = reason
        self.duration = duration
    }

    /// As it is sent, in milliseconds.
    package var milliseconds: UInt32 { UInt32(clamping: max(.zero, duration).inMilliseconds64) }

    /// From the wire: a reason of a later version is another one, and nobody is kept away for longer than an honest
    /// member says.
    package init(reason: UInt8, milliseconds: UInt32) {
        self.reason = Reason(rawValue: reason) ?? .other
        duration = min(.milliseconds(Int64(milliseconds)), MeshLimits.longestPause)
    }
}
