import BeamMedia

/// What the media plane is held to, on both sides.
enum MediaLimits {
    /// The longest datagram that is sent, headers and tag included, in bytes.
    static let datagramLength = 1200
    /// The longest datagram that is read: an Ethernet frame's payload, for hosts that cut larger parts.
    static let receivedDatagramLength = 1500
    /// The largest frame: parameter sets and AVCC bytes.
    static let frameLength = 8 << 20
    /// What a version 1 viewer says to be sent the stream: `BRHI!`.
    static let hello: [UInt8] = [0x42, 0x52, 0x48, 0x49, 0x21]

    static func isHello(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == hello.count && bytes.elementsEqual(hello)
    }
}

/// A frame's number on the wire. Numbers wrap around: a number is newer than those up to half the circle behind it
/// (RFC 1982).
struct SequenceNumber: Hashable, Sendable {
    var value: UInt32

    init(_ value: UInt32) { self.value = value }

    var next: SequenceNumber { SequenceNumber(value &+ 1) }

    /// How many frames this one is ahead of `other`; negative if behind.
    func distance(from other: SequenceNumber) -> Int { Int(Int32(bitPattern: value &- other.value)) }
}
