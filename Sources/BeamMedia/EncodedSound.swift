/// 10 ms of encoded sound, on its way to the sinks. It has no number: the session counts what it sends.
public struct EncodedSound: Sendable, Equatable {
    /// One Opus packet (RFC 6716) of 10 ms in two channels at the options' rate; nil while nobody wants it.
    public var full: [UInt8]?
    /// The same at a reduced rate, for viewers on slow paths; nil while none of them needs it.
    public var reduced: [UInt8]?
    /// When the first sample that a decoder makes of it is heard at the host, on the host's monotonic clock.
    public var time: MediaTime
    /// The first one after silence or a gap: the encoders have begun anew.
    public var begins: Bool
    /// Silence or a gap follows.
    public var ends: Bool

    public init(
        full: [UInt8]? = nil, reduced: [UInt8]? = nil, time: MediaTime, begins: Bool = false, ends: Bool = false
    ) {
        self.full = full
        self.reduced = reduced
        self.time = time
        self.begins = begins
        self.ends = ends
    }
}

/// Which encodings of the sound are wanted.
public struct SoundDemand: Sendable, Hashable {
    public var full: Bool
    public var reduced: Bool

    public init(full: Bool = false, reduced: Bool = false) {
        self.full = full
        self.reduced = reduced
    }

    public var isAny: Bool { full || reduced }

    public func union(_ other: SoundDemand) -> SoundDemand {
        SoundDemand(full: full || other.full, reduced: reduced || other.reduced)
    }
}
