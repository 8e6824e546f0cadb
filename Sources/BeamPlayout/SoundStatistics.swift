import BeamMedia

/// What became of the sound at a viewer, since the start, and how it is played now.
public struct SoundStatistics: Sendable, Equatable {
    /// Packets decoded: 10 ms each.
    public var played: UInt64 = 0
    /// Samples (48 kHz) that were made up, because the packet hadn't come when it was needed.
    public var concealedSamples: UInt64 = 0
    /// Packets that came after they were needed.
    public var late: UInt64 = 0
    /// Packets that never came.
    public var lost: UInt64 = 0
    /// Packets that came and weren't played: too late after a long stall, or left out to be in step with the picture.
    public var dropped: UInt64 = 0
    /// How often there was nothing to be played in the middle of sound.
    public var underruns: UInt64 = 0
    /// How long packets wait at present before they are decoded; a mean.
    public var buffer = Duration.zero
    /// The delay that the network demands, as `buffer` would be.
    public var wantedBuffer = Duration.zero
    /// How much faster the host's sound clock runs than this machine's, in parts per million.
    public var driftPPM = 0.0
    /// From when the sound is heard at the host until it is heard here; nil until the host's clock is known, and while
    /// nothing has been played.
    public var latency: Duration?
    /// The latency that the network demands: what `latency` comes to without `leastLatency`.
    public var naturalLatency: Duration?

    public init() {}

    /// The share of the time in which sound was made up, 0 to 1.
    public var concealedShare: Double {
        let (played, concealed) = (Double(played) * Double(SoundBlock.length), Double(concealedSamples))
        return concealed == 0 ? 0 : concealed / (played + concealed)
    }
}
