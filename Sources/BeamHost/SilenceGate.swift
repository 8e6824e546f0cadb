import BeamMedia

/// Decides which blocks of sound are sent: from the first one in which something is heard until it has been silent for
/// `tail`. A pure value.
struct SilenceGate: Sendable {
    /// Half of the smallest step of 16-bit sound: a device that plays nothing gives exact zeros, and dither is louder.
    static let threshold: Float = 1 / 65536
    /// How long silence is sent before it ends, in blocks: 0.2 s, so that pauses between words don't begin the encoder anew.
    static let tail = 20
    /// From one block to the next; what differs by more is a gap.
    private static let mostDeviation = Duration.milliseconds(5)

    enum Verdict: Hashable, Sendable {
        /// Nothing is heard.
        case drop
        /// `begins`: after silence or a gap. `ends`: silence follows.
        case send(begins: Bool, ends: Bool)
    }

    private var silentBlocks = 0
    private var isOpen = false
    private var next: MediaTime?

    mutating func take(_ block: SoundBlock) -> Verdict {
        let deviation = next.map { block.time - $0 } ?? .zero
        let hasGap = deviation > Self.mostDeviation || deviation < .zero - Self.mostDeviation
        next = block.time + SoundBlock.duration
        let isSilent = Self.isSilent(block.samples)
        silentBlocks = isSilent ? silentBlocks + 1 : 0
        guard isOpen else {
            isOpen = !isSilent
            return isSilent ? .drop : .send(begins: true, ends: false)
        }
        isOpen = silentBlocks < Self.tail
        return .send(begins: hasGap, ends: !isOpen)
    }

    /// What follows begins anew.
    mutating func close() { self = SilenceGate() }

    private static func isSilent(_ samples: [Float]) -> Bool {
        // Values that aren't numbers don't count as sound.
        samples.allSatisfy { !(abs($0) >= threshold) }
    }
}
