import BeamMedia

extension MediaTime {
    /// No machine's monotonic clock shows more: 100 years of uptime, in µs. The difference of two clocks that are held to it,
    /// and the sum of both, fits into 64 bits of nanoseconds.
    static let longestUptime: UInt64 = 100 * 366 * 86_400 * 1_000_000

    /// As the wire has it: whole µs. What lies before the clock's start counts as the start, what lies behind `longestUptime`
    /// as that.
    var microseconds: UInt64 { min(UInt64(max(0, nanoseconds)) / 1000, Self.longestUptime) }

    /// A peer's clock, or a time on it. Nil for one that shows more than `longestUptime`.
    init?(microseconds: UInt64) {
        guard microseconds <= Self.longestUptime else { return nil }
        self.init(nanoseconds: Int64(microseconds) * 1000)
    }
}
