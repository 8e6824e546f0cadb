/// Opus packets (RFC 6716) that are passed on without being decoded.
enum OpusPacket {
    /// In bytes: the longest frame (3.2.1).
    static let longest = 1275

    /// Samples a second that decoders make, and that lengths are counted in, whatever the encoder's rate was.
    static let sampleRate: Int64 = 48_000

    /// How many samples a decoder makes of `packet` (3.1 and 3.2), in each channel; nil if it has no frame.
    static func length(_ packet: [UInt8]) -> Int64? {
        guard let toc = packet.first else { return nil }
        let configuration = Int(toc >> 3)
        // In units of 2.5 ms.
        let frame: Int64 =
            switch configuration {
            case ..<12: [4, 8, 16, 24][configuration % 4]
            case ..<16: [4, 8][configuration % 2]
            default: [1, 2, 4, 8][configuration % 4]
            }
        let frames: Int64
        switch toc & 3 {
        case 0: frames = 1
        case 1, 2: frames = 2
        default:
            guard packet.count > 1, packet[1] & 0x3F > 0 else { return nil }
            frames = Int64(packet[1] & 0x3F)
        }
        return frame * frames * 120
    }

    /// A packet of 10 ms without data, which follows `packet`: a decoder conceals it as it conceals a lost one (3.2.1).
    static func concealed(after packet: [UInt8]) -> [UInt8] {
        // Of a packet with several frames the configuration is that of a shorter one.
        guard let toc = packet.first, toc & 3 == 0 else { return [stereo10 | 4] }
        return [toc]
    }

    /// The first byte of packets of one frame in CELT mode with the full bandwidth (table 2).
    private static let (stereo2_5, stereo5, stereo10): (UInt8, UInt8, UInt8) = (28 << 3, 29 << 3, 30 << 3)
    /// CELT's silence flag (4.3), as the range coder writes it.
    private static let silentFrame: [UInt8] = [0xFF, 0xFE]

    /// Silent packets in two channels. A decoder fades out within 2.5 ms, and gives zeros after that. The longest has
    /// six frames of 20 ms (3.2.5).
    static let silent: [(length: Int64, bytes: [UInt8])] = [
        (120, [stereo2_5 | 4] + silentFrame), (240, [stereo5 | 4] + silentFrame), (480, [stereo10 | 4] + silentFrame),
        (5760, [31 << 3 | 4 | 3, 6] + Array([[UInt8]](repeating: silentFrame, count: 6).joined())),
    ]

    /// The identification header (RFC 7845, 5.1) of two channels.
    ///
    /// With a pre-skip of 0: the times of packets are those of their decoded samples, so the encoder's delay is
    /// already in them. Programs differ about a pre-skip. Matroska states it a second time, and libavformat moves the
    /// times by 3 ms instead of 2.5 to read them, but not in every version to write them; MP4 needs an edit list for
    /// it, which fragments don't have.
    static let header: [UInt8] = Array("OpusHead".utf8) + [1, 2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
}
