import BeamMedia

/// What a receiver says of one source (RFC 3550, 6.4.1).
public struct ReceptionReport: Sendable, Hashable {
    public var source: UInt32
    /// Of the packets since its last report, in 1/256.
    public var fractionLost: UInt8
    /// Packets since the beginning, from −2²³ to 2²³ − 1: less than 0 if some came twice.
    public var cumulativeLost: Int32
    /// The highest sequence number, and in the upper half how often the numbers began anew.
    public var highestSequence: UInt32
    /// In timestamp units.
    public var jitter: UInt32
    /// `NTPTime.middle` of the last sender report; 0: none has arrived.
    public var lastReport: UInt32
    /// Since that arrived, in 2⁻¹⁶ s.
    public var delay: UInt32

    public init(
        source: UInt32, fractionLost: UInt8 = 0, cumulativeLost: Int32 = 0, highestSequence: UInt32 = 0,
        jitter: UInt32 = 0, lastReport: UInt32 = 0, delay: UInt32 = 0
    ) {
        self.source = source
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastReport = lastReport
        self.delay = delay
    }

    /// Its length in bytes.
    static let length = 24

    init?(_ reader: inout BigEndianReader) {
        guard let source: UInt32 = reader.integer(), let lost: UInt32 = reader.integer(),
            let highest: UInt32 = reader.integer(), let jitter: UInt32 = reader.integer(),
            let lastReport: UInt32 = reader.integer(), let delay: UInt32 = reader.integer()
        else { return nil }
        self.init(
            source: source, fractionLost: UInt8(lost >> 24), cumulativeLost: Int32(bitPattern: lost << 8) >> 8,
            highestSequence: highest, jitter: jitter, lastReport: lastReport, delay: delay)
    }
}

/// Why a compound packet was refused.
public enum RTCPError: Error, Hashable, Sendable {
    /// It doesn't begin with a whole packet of version 2.
    case malformed
    /// A packet claims to be longer than what there is. What stood before it counted.
    case lengthLies
}

/// Reads a compound RTCP packet (RFC 3550, 6.1) from a browser: the reports and requests that concern a sender. All else,
/// names and estimates included, is skipped.
public struct RTCPReader: Sendable {
    public enum Item: Sendable, Hashable {
        case report(ReceptionReport)
        /// It reports on nothing, as nothing has come since its last report (RFC 3550, 6.4.2): it is there.
        case presence
        /// Packets of a source that didn't arrive (RFC 4585, 6.2.1): a sequence number, and a bit for each of the 16
        /// after it.
        case missing(source: UInt32, first: UInt16, following: UInt16)
        /// A keyframe, please: a picture loss indication (RFC 4585, 6.3.1) or a full intra request (RFC 5104, 4.3.1).
        case keyframe(source: UInt32)
        /// The browser takes no more (RFC 3550, 6.6).
        case goodbye
    }

    /// Longer packets aren't sent by anybody: a datagram's.
    public static let longest = 1500

    /// Calls `body` for each item. It can't be called more than about 400 times, as an item has at least 4 bytes.
    ///
    /// - Throws: `RTCPError` where the packet can't be read on. Items before it were passed on.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Void
    ) throws(RTCPError) {
        guard bytes.count >= 4, bytes.count <= longest else { throw .malformed }
        var reader = BigEndianReader(bytes)
        while !reader.rest.isEmpty {
            guard let head: UInt32 = reader.integer(), head >> 30 == 2 else { throw .malformed }
            guard var rest = reader.bytes(Int(head & 0xFFFF) * 4) else { throw .lengthLies }
            if head >> 29 & 1 == 1 {
                // Padding (6.4.1): its last byte counts it.
                guard let last = rest.last, last > 0, Int(last) <= rest.count else { throw .lengthLies }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropLast(Int(last)))
            }
            try readPacket(kind: UInt8(head >> 16 & 0xFF), count: Int(head >> 24 & 31), rest, body)
        }
    }

    private static func readPacket(
        kind: UInt8, count: Int, _ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Void
    ) throws(RTCPError) {
        var reader = BigEndianReader(bytes)
        switch (kind, count) {
        // A sender report has 20 bytes of its own before the blocks.
        case (200, _), (201, _):
            guard reader.bytes(kind == 200 ? 24 : 4) != nil else { throw .lengthLies }
            if count == 0 { body(.presence) }
            for _ in 0..<count {
                guard let report = ReceptionReport(&reader) else { throw .lengthLies }
                body(.report(report))
            }
        case (203, _): body(.goodbye)
        case (205, 1), (206, 1), (206, 4): try readFeedback(kind: kind, format: count, &reader, body)
        default: break
        }
    }

    /// RFC 4585, 6.1: the sender, the source that is meant, and what depends on the kind.
    private static func readFeedback(
        kind: UInt8, format: Int, _ reader: inout BigEndianReader, _ body: (Item) -> Void
    ) throws(RTCPError) {
        guard reader.integer(UInt32.self) != nil, let source: UInt32 = reader.integer() else { throw .lengthLies }
        switch (kind, format) {
        case (205, _):
            while let first: UInt16 = reader.integer(), let following: UInt16 = reader.integer() {
                body(.missing(source: source, first: first, following: following))
            }
        case (206, 1): body(.keyframe(source: source))
        default:
            // A full intra request names the source in its entries.
            while let source: UInt32 = reader.integer(), reader.integer(UInt32.self) != nil {
                body(.keyframe(source: source))
            }
        }
    }
}
