import BeamMedia

/// A time in the form of RFC 3550, 4: seconds in the upper half, fractions of 2⁻³² s in the lower. It counts from the
/// start of the machine's monotonic clock, which that clause allows, so it says nothing of the time of day.
public struct NTPTime: Sendable, Hashable {
    public let value: UInt64

    public init(_ time: MediaTime) {
        // Negative times, which no clock has, count from the other end.
        let nanoseconds = UInt64(bitPattern: time.nanoseconds)
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        value = seconds << 32 | (rest << 32) / 1_000_000_000
    }

    /// The middle 32 bits, as reports repeat them (6.4.1): units of 2⁻¹⁶ s.
    public var middle: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }

    /// A time in units of 2⁻¹⁶ s.
    public static func duration(_ units: UInt32) -> Duration {
        .nanoseconds((Int64(units) * 1_000_000_000) >> 16)
    }
}
