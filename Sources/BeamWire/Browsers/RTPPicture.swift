import BeamMedia

/// A coded picture cut into RTP payloads by RFC 6184 in packetization mode 1: single NAL units (5.6), and FU-A fragments
/// (5.8) of those that are too long. A keyframe begins with its parameter sets.
///
/// The encoder's bytes are shared, not copied: a packet is put together when it is sent, in the memory from which it
/// leaves. So a picture is cut once for all browsers, and costs 12 bytes a packet besides its own.
public struct RTPPicture: Sendable {
    /// The most bytes of a payload. With headers, SRTP's tag and UDP over IPv6 a packet has at most 1,260 bytes: less than
    /// IPv6's least MTU (RFC 8200, 5).
    public static let longestPayload = 1180
    /// The longest packet in bytes, without what SRTP adds.
    public static let longestPacket = RTPHeader.length + PlayoutDelay.length + longestPayload

    /// Why a picture can't be cut.
    public enum Failure: Error, Hashable, Sendable {
        /// It isn't in AVCC form.
        case notAVCC
        /// It has no NAL unit.
        case isEmpty
    }

    /// A payload: a part of the picture's bytes, or of its parameter sets'.
    private struct Piece: Sendable {
        var offset: UInt32
        var length: UInt16
        var isParameterSet: Bool
        var isFragment = false
        /// FU indicator and FU header (5.8).
        var indicator: UInt8 = 0
        var header: UInt8 = 0
    }

    private let bytes: [UInt8]
    /// SPS and PPS, one after another.
    private let sets: [UInt8]
    private let pieces: [Piece]

    /// The number of packets, at least 1.
    public var count: Int { pieces.count }
    /// Of all payloads, in bytes.
    public let payloadBytes: Int

    /// - Throws: `Failure` for an access unit without NAL units, or with one that is longer than the access unit.
    public init(_ unit: AccessUnit) throws(Failure) {
        bytes = unit.bytes
        var pieces: [Piece] = []
        pieces.reserveCapacity(unit.range.count / Self.longestPayload + 4)
        var sets: [UInt8] = []
        if unit.isKeyframe, let parameterSets = unit.parameterSets {
            for set in parameterSets.sps + parameterSets.pps where !set.isEmpty {
                Self.cut(set, sets.count..<sets.count + set.count, at: 0, isParameterSet: true, into: &pieces)
                sets += set
            }
        }
        self.sets = sets
        try Self.cutUnits(unit, into: &pieces)
        guard !pieces.isEmpty else { throw .isEmpty }
        self.pieces = pieces
        payloadBytes = pieces.reduce(0) { $0 + Self.payloadLength($1) }
    }

    private static func cutUnits(_ unit: AccessUnit, into pieces: inout [Piece]) throws(Failure) {
        let (range, end) = (unit.range, unit.range.upperBound)
        guard range.lowerBound >= 0, end <= unit.bytes.count, end <= Int(UInt32.max) else { throw .notAVCC }
        var offset = range.lowerBound
        while offset < end {
            guard end - offset >= 4 else { throw .notAVCC }
            let length = unit.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            offset += 4
            guard length <= end - offset else { throw .notAVCC }
            if length > 0 {
                cut(unit.bytes, offset..<offset + length, at: offset, isParameterSet: false, into: &pieces)
            }
            offset += length
        }
    }

    /// Cuts a NAL unit. `range`: its place in the memory where it will be; `at`: its first byte's place in `bytes`.
    private static func cut(
        _ bytes: [UInt8], _ range: Range<Int>, at first: Int, isParameterSet: Bool, into pieces: inout [Piece]
    ) {
        guard range.count > longestPayload else {
            pieces.append(
                Piece(
                    offset: UInt32(range.lowerBound), length: UInt16(range.count), isParameterSet: isParameterSet))
            return
        }
        let head = bytes[first]
        // The unit's own header isn't sent: F and NRI are in the indicator, the type is in the FU header.
        var offset = range.lowerBound + 1
        while offset < range.upperBound {
            let length = min(range.upperBound - offset, longestPayload - 2)
            let isFirst = offset == range.lowerBound + 1
            let isLast = offset + length == range.upperBound
            pieces.append(
                Piece(
                    offset: UInt32(offset), length: UInt16(length), isParameterSet: isParameterSet, isFragment: true,
                    indicator: head & 0xE0 | 28,
                    header: (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0) | head & 0x1F))
            offset += length
        }
    }

    private static func payloadLength(_ piece: Piece) -> Int { Int(piece.length) + (piece.isFragment ? 2 : 0) }

    /// A payload's length in bytes.
    public func payloadLength(_ index: Int) -> Int { Self.payloadLength(pieces[index]) }

    /// Whether the packet ends the picture: its marker bit.
    public func isLast(_ index: Int) -> Bool { index == pieces.count - 1 }

    /// Writes a whole packet to the start of `memory`, which has room for `longestPacket` bytes. Returns its length.
    public func write(_ index: Int, _ header: RTPHeader, to memory: UnsafeMutableRawBufferPointer) -> Int {
        let piece = pieces[index]
        var writer = BigEndianWriter(memory)
        header.write(&writer)
        if piece.isFragment {
            writer.write(piece.indicator)
            writer.write(piece.header)
        }
        let start = header.length + (piece.isFragment ? 2 : 0)
        let from = Int(piece.offset)
        (piece.isParameterSet ? sets : bytes).withUnsafeBytes { source in
            let payload = UnsafeRawBufferPointer(rebasing: source[from..<from + Int(piece.length)])
            UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: payload)
        }
        return start + Int(piece.length)
    }
}
