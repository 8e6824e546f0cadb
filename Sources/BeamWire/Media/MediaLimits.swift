import BeamMedia

/// Limits of the media plane, for both sides.
package enum MediaLimits {
    /// The longest datagram that is sent, headers and tag included, in bytes. With UDP's and IPv6's headers it stays
    /// below 1280 bytes, IPv6's least MTU, so it isn't fragmented.
    package static let datagramLength = DatagramSize.full.length
    /// The longest feedback datagram that a viewer sends, so that it passes wherever the shortest of the host's do.
    package static let feedbackLength = DatagramSize.small.length
    /// The longest datagram that is read, in bytes: the payload of an Ethernet frame, because other hosts may cut
    /// larger parts.
    package static let receivedDatagramLength = 1500
    /// The largest frame, parameter sets and AVCC bytes together, in bytes.
    package static let frameLength = 8 << 20
    /// `BRHI!`, by which a version 1 viewer asks for the stream.
    package static let hello: [UInt8] = [0x42, 0x52, 0x48, 0x49, 0x21]

    package static func isHello(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == hello.count && bytes.elementsEqual(hello)
    }
}

/// A frame's number on the wire. Numbers wrap around: a number is newer than the 2³¹ − 1 before it (RFC 1982).
package struct SequenceNumber: Hashable, Sendable {
    package var value: UInt32

    @inlinable package init(_ value: UInt32) { self.value = value }

    @inlinable package var next: SequenceNumber { SequenceNumber(value &+ 1) }

    // Written out, because one that the compiler derives can't be inlined in other modules: each comparison in a list of
    // frames would copy a whole frame.
    @inlinable package static func == (left: SequenceNumber, right: SequenceNumber) -> Bool {
        left.value == right.value
    }

    /// How many frames this one is ahead of `other`; negative if behind.
    @inlinable package func distance(from other: SequenceNumber) -> Int { Int(Int32(bitPattern: value &- other.value)) }
}
