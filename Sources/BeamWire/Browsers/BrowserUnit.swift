import BeamMedia

/// A whole access unit or Opus packet for a page that decodes with WebCodecs: one binary message of its WebSocket.
public struct BrowserUnit: Sendable {
    /// What a page's video decoder is configured with. Sent before the unit with which it begins.
    public struct Description: Sendable, Hashable {
        /// Such as `avc1.4dc02a` (RFC 6381, 3.3).
        public var codec: String
        /// An AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1).
        public var record: [UInt8]
        public var size: PixelSize

        /// Nil if there is no sequence parameter set, or one that can't be described.
        public init?(_ sets: ParameterSets, size: PixelSize) {
            let all = sets.sps + sets.pps
            guard let first = sets.sps.first, first.count >= 4, sets.sps.count < 32, sets.pps.count < 256,
                all.allSatisfy({ !$0.isEmpty && $0.count <= Int(UInt16.max) })
            else { return nil }
            // Profile, constraints, level; lengths of 4 bytes.
            var record: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(sets.sps.count)]
            func append(_ set: [UInt8]) {
                record.append(bigEndian: UInt16(set.count))
                record += set
            }
            sets.sps.forEach(append)
            record.append(UInt8(sets.pps.count))
            sets.pps.forEach(append)
            // High profile is 4:2:0 with 8 bits. The other profiles that have these fields aren't made.
            if first[1] == 100 { record += [0xFD, 0xF8, 0xF8, 0] }
            self.record = record
            self.size = size
            codec = "avc1." + first[1...3].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    public enum Kind: Sendable, Hashable {
        /// The description isn't nil where it differs from the last one that this page has got.
        case keyframe(Description?)
        case picture
        case sound
    }

    public var kind: Kind
    /// Counts this page's pictures, or its sounds, from 0 on, modulo 2³².
    public var number: UInt32
    /// When the screen looked like this, or the sound is heard at the host.
    public var time: MediaTime
    /// In AVCC form, or Opus: `bytes[range]`.
    public var bytes: [UInt8]
    public var range: Range<Int>

    public init(kind: Kind, number: UInt32, time: MediaTime, bytes: [UInt8], range: Range<Int>) {
        self.kind = kind
        self.number = number
        self.time = time
        self.bytes = bytes
        self.range = range
    }

    /// Of `head`, in bytes.
    public static let headLength = 13

    /// What stands before the bytes in the message: flags (1: keyframe, 2: sound), the number in 4 bytes, the time in
    /// microseconds in 8, in network byte order.
    public var head: [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(Self.headLength)
        switch kind {
        case .keyframe: head.append(1)
        case .picture: head.append(0)
        case .sound: head.append(2)
        }
        head.append(bigEndian: number)
        head.append(bigEndian: UInt64(clamping: time.nanoseconds / 1000))
        return head
    }
}
