import BeamMedia
import BeamWire

/// RTP packets of one picture, or one of sound, for one browser.
///
/// A browser's packets differ from another one's in source and sequence numbers: sources are random for each, and the
/// numbers have to follow one another without gaps where a picture was skipped, as browsers take a gap for loss. All the
/// rest is shared, and nothing is allocated for a packet: `write` puts it together in the memory where it is protected.
public struct BrowserBurst: Sendable {
    enum Content: Sendable {
        case picture(RTPPicture, Range<Int>)
        case sound(RTPSound)
    }

    let content: Content
    /// The first packet's. Its marker counts for sound only.
    let first: RTPHeader

    /// The most bytes that `write` needs.
    public static let longestPacket = max(RTPPicture.longestPacket, RTPSound.longestPacket)

    /// The number of packets, at least 1.
    public var count: Int {
        switch content {
        case .picture(_, let range): range.count
        case .sound: 1
        }
    }

    /// Whether these packets are sound.
    public var isSound: Bool { if case .sound = content { true } else { false } }

    /// Of the payloads, in bytes.
    var payloadBytes: Int {
        switch content {
        case .picture(let picture, let range): range.reduce(0) { $0 + picture.payloadLength($1) }
        case .sound(let sound): sound.payloadLength
        }
    }

    /// The sequence number of packet `index`.
    public func sequence(_ index: Int) -> UInt16 { first.sequence &+ UInt16(truncatingIfNeeded: index) }

    /// Writes packet `index` (less than `count`) to the start of `memory`, which has room for `longestPacket` bytes.
    /// Returns its length.
    public func write(_ index: Int, to memory: UnsafeMutableRawBufferPointer) -> Int {
        switch content {
        case .picture(let picture, let range):
            var header = first
            header.sequence = sequence(index)
            header.marker = picture.isLast(range.lowerBound + index)
            return picture.write(range.lowerBound + index, header, to: memory)
        case .sound(let sound): return sound.write(first, to: memory)
        }
    }
}
