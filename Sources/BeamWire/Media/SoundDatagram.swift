import BeamMedia

/// A sound datagram's plaintext (kind 0xB6): one packet, and perhaps the ones before it once more.
///
/// u32 number of the newest packet, u64 its time in µs of the host's monotonic clock, then the packets, the newest first,
/// each u8 flags, u16 length and as many bytes: one Opus packet (RFC 6716) of 10 ms. Numbers count down from one packet to
/// the next, and times by 10 ms.
package enum SoundDatagram {
    /// A packet's flags; others are ignored.
    package struct Flags: OptionSet, Hashable, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The first one after silence or a gap.
        package static let begins = Flags(rawValue: 1 << 0)
        /// Silence or a gap follows.
        package static let ends = Flags(rawValue: 1 << 1)
        /// From the encoder of the reduced rate.
        package static let reduced = Flags(rawValue: 1 << 2)
        /// The datagram is a retransmission, so it says nothing of what was lost.
        package static let retransmission = Flags(rawValue: 1 << 3)
    }

    /// A packet in a datagram; its bytes are valid as long as the datagram's.
    package struct Entry {
        package var number: UInt32
        package var time: MediaTime
        package var flags: Flags
        package var opus: UnsafeRawBufferPointer

        package init(number: UInt32, time: MediaTime, flags: Flags, opus: UnsafeRawBufferPointer) {
            self.number = number
            self.time = time
            self.flags = flags
            self.opus = opus
        }
    }

    /// Of the number and the time, and of a packet without its bytes.
    package static let headLength = 12
    package static let entryHeadLength = 3
    /// The longest Opus frame in bytes (RFC 6716, 3.2.1).
    package static let longestPacket = 1275
    /// Packets in one datagram that are read.
    package static let mostEntries = 8

    /// The newest packet's number and time.
    package static func appendHead(number: UInt32, time: MediaTime, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: time.microseconds)
    }

    package static func append(_ opus: [UInt8], _ flags: Flags, to bytes: inout [UInt8]) {
        bytes.append(flags.rawValue)
        bytes.append(bigEndian: UInt16(clamping: opus.count))
        bytes += opus
    }

    /// Calls `body` for each complete packet, the newest first. A packet that is cut short ends the reading; false if the
    /// first one is, or its time isn't possible.
    package static func read(_ plaintext: UnsafeRawBufferPointer, _ body: (Entry) -> Void) -> Bool {
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
