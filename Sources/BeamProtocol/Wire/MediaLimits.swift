import BeamMedia

/// Limits of the media plane, for both sides.
enum MediaLimits {
    /// The longest datagram that is sent, headers and tag included, in bytes. With UDP's and IPv6's headers it stays
    /// below 1280 bytes, IPv6's least MTU, so it isn't fragmented.
    static let datagramLength = DatagramSize.full.length
    /// The longest feedback datagram that a viewer sends, so that it passes wherever the shortest of the host's do.
    static let feedbackLength = DatagramSize.small.length
    /// The longest datagram that is read, in bytes: the payload of an Ethernet frame, because other hosts may cut
    /// larger parts.
    static let receivedDatagramLength = 1500
    /// The largest frame, parameter sets and AVCC bytes together, in bytes.
    static let frameLength = 8 << 20
    /// `BRHI!`, by which a version 1 viewer asks for the stream.
    static let hello: [UInt8] = [0x42, 0x52, 0x48, 0x49, 0x21]

    static func isHello(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == hello.count && bytes.elementsEqual(hello)
    }
}

/// A frame's number on the wire. Numbers wrap around: a number is newer than the 2³¹ − 1 before it (RFC 1982).
struct SequenceNumber: Hashable, Sendable {
    var value: UInt32

    init(_ value: UInt32) { self.value = value }

    var next: SequenceNumber { SequenceNumber(value &+ 1) }

    /// How many frames this one is ahead of `other`; negative if behind.
    func distance(from other: SequenceNumber) -> Int { Int(Int32(bitPattern: value &- other.value)) }
}
