import BeamMedia

/// What a sender says of its stream (RFC 3550, 6.4.1).
public struct SenderReport: Sendable, Hashable {
    public var source: UInt32
    public var time: NTPTime
    /// The same moment as an RTP timestamp.
    public var timestamp: UInt32
    /// Packets and payload bytes since the beginning, modulo 2³².
    public var packets: UInt32
    public var bytes: UInt32

    public init(source: UInt32, time: NTPTime, timestamp: UInt32, packets: UInt32, bytes: UInt32) {
        self.source = source
        self.time = time
        self.timestamp = timestamp
        self.packets = packets
        self.bytes = bytes
    }

    /// A compound packet: this report without report blocks, and an SDES with the canonical name (6.5.1), which has 1 to
    /// 255 bytes.
    public func compound(name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: 0x80C8_0006 as UInt32)
        bytes.append(bigEndian: source)
        bytes.append(bigEndian: time.value)
        bytes.append(bigEndian: timestamp)
        bytes.append(bigEndian: packets)
        bytes.append(bigEndian: self.bytes)
        let name = Array(name.utf8.prefix(255))
        // One chunk: the source, one item, and at least one zero byte up to the next word.
        let words = (name.count + 2) / 4 + 1
        bytes.append(bigEndian: 0x81CA_0000 | UInt32(words + 1))
        bytes.append(bigEndian: source)
        bytes.append(contentsOf: [1, UInt8(name.count)] + name)
        bytes.append(contentsOf: [UInt8](repeating: 0, count: words * 4 - 2 - name.count))
        return bytes
    }
}
