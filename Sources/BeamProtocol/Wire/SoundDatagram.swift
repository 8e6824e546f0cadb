import BeamMedia

/// A sound datagram's plaintext (kind 0xB6): one packet, and perhaps the ones before it once more.
///
/// u32 number of the newest packet, u64 its time in µs of the host's monotonic clock, then the packets, the newest first,
/// each u8 flags, u16 length and as many bytes: one Opus packet (RFC 6716) of 10 ms. Numbers count down from one packet to
/// the next, and times by 10 ms.
enum SoundDatagram {
    /// A packet's flags; others are ignored.
    struct Flags: OptionSet, Hashable, Sendable {
        var rawValue: UInt8
        /// The first one after silence or a gap.
        static let begins = Flags(rawValue: 1 << 0)
        /// Silence or a gap follows.
        static let ends = Flags(rawValue: 1 << 1)
        /// From the encoder of the reduced rate.
        static let reduced = Flags(rawValue: 1 << 2)
        /// The datagram is a retransmission, so it says nothing of what was lost.
        static let retransmission = Flags(rawValue: 1 << 3)
    }

    /// A packet in a datagram; its bytes are valid as long as the datagram's.
    struct Entry {
        var number: UInt32
        var time: MediaTime
        var flags: Flags
        var opus: UnsafeRawBufferPointer
    }

    /// Of the number and the time, and of a packet without its bytes.
    static let headLength = 12
    static let entryHeadLength = 3
    /// The longest Opus frame in bytes (RFC 6716, 3.2.1).
    static let longestPacket = 1275
    /// Packets in one datagram that are read.
    static let mostEntries = 8

    /// The newest packet's number and time.
    static func appendHead(number: UInt32, time: MediaTime, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: time.microseconds)
    }

    static func append(_ opus: [UInt8], _ flags: Flags, to bytes: inout [UInt8]) {
        bytes.append(flags.rawValue)
        bytes.append(bigEndian: UInt16(clamping: opus.count))
        bytes += opus
    }

    /// Calls `body` for each complete packet, the newest first. A packet that is cut short ends the reading; false if the
    /// first one is, or its time isn't possible.
    static func read(_ plaintext: UnsafeRawBufferPointer, _ body: (Entry) -> Void) -> Bool {
        var reader = BigEndianReader(plaintext)
        guard var number: UInt32 = reader.integer(), let microseconds: UInt64 = reader.integer(),
            var time = MediaTime(microseconds: microseconds)
        else { return false }
        var count = 0
        while count < mostEntries, let flags: UInt8 = reader.integer(), let opus = reader.counted(by: UInt16.self),
            !opus.isEmpty, opus.count <= longestPacket
        {
            body(Entry(number: number, time: time, flags: Flags(rawValue: flags), opus: opus))
            number &-= 1
            time = time - SoundBlock.duration
            count += 1
        }
        return count > 0
    }
}
