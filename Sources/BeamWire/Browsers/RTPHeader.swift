import BeamMedia

/// An RTP packet's header (RFC 3550, 5.1): no padding, no contributing sources.
public struct RTPHeader: Sendable, Hashable {
    /// Without extensions, in bytes.
    public static let length = 12

    /// Below 128.
    public var payloadType: UInt8
    /// The last packet of a picture (RFC 6184, 5.1); the first one of sound after silence (RFC 3551, 4.1).
    public var marker: Bool
    public var sequence: UInt16
    public var timestamp: UInt32
    /// The synchronisation source (SSRC).
    public var source: UInt32
    /// Asks the browser to show each picture as soon as it has it, as a header extension of 8 bytes.
    public var hasPlayoutDelay: Bool

    public init(
        payloadType: UInt8, marker: Bool, sequence: UInt16, timestamp: UInt32, source: UInt32,
        hasPlayoutDelay: Bool = false
    ) {
        self.payloadType = payloadType
        self.marker = marker
        self.sequence = sequence
        self.timestamp = timestamp
        self.source = source
        self.hasPlayoutDelay = hasPlayoutDelay
    }

    /// In bytes, with the extension.
    public var length: Int { Self.length + (hasPlayoutDelay ? PlayoutDelay.length : 0) }

    func write(_ writer: inout BigEndianWriter) {
        writer.write(0x8000 | (hasPlayoutDelay ? 0x1000 : 0) | (marker ? 0x80 : 0) | UInt16(payloadType & 0x7F))
        writer.write(sequence)
        writer.write(timestamp)
        writer.write(source)
        if hasPlayoutDelay { writer.write(PlayoutDelay.none) }
    }
}

/// The header extension `http://www.webrtc.org/experiments/rtp-hdrext/playout-delay` in its one-byte form (RFC 8285,
/// 4.2): 12 bits each for the least and the most delay in units of 10 ms.
public enum PlayoutDelay {
    public static let name = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
    /// The extension's number, as the session description says it.
    public static let number: UInt8 = 12
    /// In bytes.
    static let length = 8
    /// One word of extensions; element 12 with three bytes, which are zero: no delay at all.
    static let none: UInt64 = 0xBEDE_0001 << 32 | UInt64(clamping: number << 4 | 2) << 24
}
