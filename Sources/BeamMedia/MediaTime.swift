/// A point in time on the machine's monotonic clock, in nanoseconds since an arbitrary start.
///
/// The core never reads a clock; time is passed in. `BeamClock` reads the real one, tests use virtual time.
public struct MediaTime: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static let zero = MediaTime(nanoseconds: 0)

    /// Later than every other time.
    public static let distantFuture = MediaTime(nanoseconds: .max)

    public static func < (a: MediaTime, b: MediaTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Earlier than every other time.
    public static let distantPast = MediaTime(nanoseconds: .min)

    // A peer's clock may have any value, so sums and differences saturate instead of trapping.

    public static func + (time: MediaTime, interval: Duration) -> MediaTime {
        let interval = interval.inNanoseconds
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(interval)
        guard overflow else { return MediaTime(nanoseconds: sum) }
        return interval < 0 ? .distantPast : .distantFuture
    }

    public static func - (time: MediaTime, interval: Duration) -> MediaTime {
        let interval = interval.inNanoseconds
        let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(interval)
        guard overflow else { return MediaTime(nanoseconds: difference) }
        return interval < 0 ? .distantFuture : .distantPast
    }

    public static func - (a: MediaTime, b: MediaTime) -> Duration {
        let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
        guard overflow else { return .nanoseconds(difference) }
        return .nanoseconds(a < b ? Int64.min : Int64.max)
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits (292 years).
    public var inNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !isTooLong, !overflow else { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The duration in milliseconds, with its fraction.
    public var inMilliseconds: Double { Double(inNanoseconds) / 1_000_000 }

    /// Whole milliseconds, not negative.
    public var inMilliseconds64: UInt64 { UInt64(clamping: inNanoseconds / 1_000_000) }

    /// The duration in seconds, with its fraction.
    public var inSeconds: Double { Double(inNanoseconds) / 1_000_000_000 }
}
