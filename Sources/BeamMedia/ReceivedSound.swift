/// 10 ms of encoded sound that have arrived at a viewer.
public struct ReceivedSound: Sendable, Equatable {
    /// One Opus packet (RFC 6716) of 10 ms in two channels. Its content is the host's, and may be anything.
    public var opus: [UInt8]
    /// One more with each packet that the host sends; wraps around. Silence has no numbers, so a missing number is a lost
    /// packet.
    public var number: UInt32
    /// When its first decoded sample is heard at the host, on the host's monotonic clock.
    public var time: MediaTime
    /// The first one after silence or a gap: the encoder has begun anew.
    public var begins: Bool
    /// Silence or a gap follows.
    public var ends: Bool
    /// It comes from the encoder of the reduced rate, whose state is another one.
    public var isReduced: Bool
    /// When it arrived here, on this machine's clock: by itself, or repeated in a later datagram.
    public var arrival: MediaTime
    /// Host time + offset = this machine's time; nil until the host's clock is known.
    public var clockOffset: Duration?

    public init(
        opus: [UInt8], number: UInt32, time: MediaTime, begins: Bool = false, ends: Bool = false,
        isReduced: Bool = false, arrival: MediaTime, clockOffset: Duration? = nil
    ) {
        self.opus = opus
        self.number = number
        self.time = time
        self.begins = begins
        self.ends = ends
        self.isReduced = isReduced
        self.arrival = arrival
        self.clockOffset = clockOffset
    }

    /// When its first sample is heard at the host, on this machine's clock; nil until the host's clock is known.
    public var localTime: MediaTime? { clockOffset.map { time + $0 } }
}
