/// A point on the machine's monotonic clock, in nanoseconds since an arbitrary start.
///
/// The core never reads a clock: time comes in as an argument. `BeamClock` reads the real one, tests make up theirs.
public struct MediaTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static let zero = MediaTime(nanoseconds: 0)

    /// Later than every other time.
    public static let distantFuture = MediaTime(nanoseconds: .max)

    public static func < (a: MediaTime, b: MediaTime) -> Bool { a.nanoseconds < b.nanoseconds }

    public static func + (time: MediaTime, interval: Duration) -> MediaTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(interval.inNanoseconds)
        return overflow ? .distantFuture : MediaTime(nanoseconds: sum)
    }

    public static func - (time: MediaTime, interval: Duration) -> MediaTime {
        MediaTime(nanoseconds: time.nanoseconds - interval.inNanoseconds)
    }

    public static func - (a: MediaTime, b: MediaTime) -> Duration {
        .nanoseconds(a.nanoseconds - b.nanoseconds)
    }
}

extension Duration {
    /// The interval in nanoseconds, clamped to what 64 bits hold (292 years).
    public var inNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return whole &+ attoseconds / 1_000_000_000
    }

    /// The interval in milliseconds, with its fraction.
    public var inMilliseconds: Double { Double(inNanoseconds) / 1_000_000 }

    /// The interval in seconds, with its fraction.
    public var inSeconds: Double { Double(inNanoseconds) / 1_000_000_000 }
}
