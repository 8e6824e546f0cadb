import BeamMedia

/// Makes RTP timestamps of a monotonic clock: a rate, and a random beginning (RFC 3550, 5.1).
public struct RTPClock: Sendable {
    /// Ticks a second of pictures (RFC 6184, 8.2.1).
    public static let video: Int64 = 90_000
    /// Ticks a second of Opus (RFC 7587, 4.1).
    public static let sound: Int64 = 48_000

    private let rate: Int64
    private let offset: UInt32
    private var last: Int64?

    public init(rate: Int64, offset: UInt32) {
        self.rate = rate
        self.offset = offset
    }

    /// The timestamp of a moment, which says nothing of what was stamped before.
    public func timestamp(of time: MediaTime) -> UInt32 { wire(ticks(time)) }

    /// The timestamp of what is sent next: later than all before, because two pictures with one timestamp are one.
    public mutating func next(_ time: MediaTime) -> UInt32 {
        let ticks = max(ticks(time), last.map { $0 &+ 1 } ?? .min)
        last = ticks
        return wire(ticks)
    }

    private func wire(_ ticks: Int64) -> UInt32 { UInt32(truncatingIfNeeded: ticks) &+ offset }

    /// In two parts, so that no time overflows.
    private func ticks(_ time: MediaTime) -> Int64 {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * rate + rest * rate / 1_000_000_000
    }
}
