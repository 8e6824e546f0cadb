import BeamMedia

extension MediaTime {
    /// The greatest value of a monotonic clock that is accepted, in µs: 100 years of uptime. Sums and differences of
    /// two such clocks fit into 64 bits of nanoseconds.
    static let longestUptime: UInt64 = 100 * 366 * 86_400 * 1_000_000

    /// Whole µs, as on the wire, clamped to 0…`longestUptime`.
    package var microseconds: UInt64 { min(UInt64(max(0, nanoseconds)) / 1000, Self.longestUptime) }

    /// A time on a peer's clock. Nil beyond `longestUptime`.
    package init?(microseconds: UInt64) {
        guard microseconds <= Self.longestUptime else { return nil }
        self.init(nanoseconds: Int64(microseconds) * 1000)
    }
}
