import BeamMedia

/// An Opus packet as an RTP payload (RFC 7587, 4.2): the packet itself.
public struct RTPSound: Sendable {
    /// An Opus packet of one frame has at most this many bytes (RFC 6716, 3.2.1).
    public static let longest = 1275
    /// The longest packet in bytes, without what SRTP adds.
    public static let longestPacket = RTPHeader.length + longest

    private let opus: [UInt8]

    /// Nil for no bytes, or more than `longest`.
    public init?(_ opus: [UInt8]) {
        guard !opus.isEmpty, opus.count <= Self.longest else { return nil }
        self.opus = opus
    }

    public var payloadLength: Int { opus.count }

    /// Writes a whole packet to the start of `memory`, which has room for `longestPacket` bytes. Returns its length.
    public func write(_ header: RTPHeader, to memory: UnsafeMutableRawBufferPointer) -> Int {
        var writer = BigEndianWriter(memory)
        header.write(&writer)
        opus.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: memory[header.length...]).copyMemory(from: $0)
        }
        return header.length + opus.count
    }
}
