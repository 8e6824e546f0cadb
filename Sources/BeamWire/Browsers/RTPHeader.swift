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
    /// How long the browser may hold pictures back, as a header extension of 8 bytes; nil: as it thinks best.
    public var playoutDelay: PlayoutDelay?

    public init(
        payloadType: UInt8, marker: Bool, sequence: UInt16, timestamp: UInt32, source: UInt32,
        playoutDelay: PlayoutDelay? = nil
    ) {
        self.payloadType = payloadType
        self.marker = marker
        self.sequence = sequence
        self.timestamp = timestamp
        self.source = source
        self.playoutDelay = playoutDelay
    }

    /// In bytes, with the extension.
    public var length: Int { Self.length + (playoutDelay == nil ? 0 : PlayoutDelay.length) }

    func write(_ writer: inout BigEndianWriter) {
        writer.write(0x8000 | (playoutDelay == nil ? 0 : 0x1000) | (marker ? 0x80 : 0) | UInt16(payloadType & 0x7F))
        writer.write(sequence)
        writer.write(timestamp)
        writer.write(source)
        if let playoutDelay { writer.write(playoutDelay.word) }
    }
}

/// The header extension `http://www.webrtc.org/experiments/rtp-hdrext/playout-delay` in its one-byte form (RFC 8285,
/// 4.2): 12 bits each for the least and the most delay in units of 10 ms.
public enum PlayoutDelay: Sendable, Hashable {
    /// Each picture is shown as soon as the browser has it.
    case immediate
    /// Pictures may wait for the sound that was captured with them, which takes longer: at most 200 ms. How long, the browser
    /// finds out by the sender reports. Up to 500 ms Chromium still shows pictures at once that need not wait.
    case forSound

    public static let name = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
    /// The extension's number, as the session description says it.
    public static let number: UInt8 = 12
    /// In bytes.
    static let length = 8
    /// One word of extensions; element 12 with three bytes: the least is 0.
    var word: UInt64 {
        let most: UInt64 = self == .immediate ? 0 : 20
        return 0xBEDE_0001 << 32 | UInt64(clamping: Self.number << 4 | 2) << 24 | most
    }
}
