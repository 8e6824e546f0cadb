import NIOCore

/// The framing of messages in version 2's control stream: a length of four bytes, big-endian, then the message.
///
/// Bytes go in as they arrive, messages come out. Memory grows with what has arrived, not with the announced length.
struct MessageFraming {
    /// The longest message that the format allows, in bytes.
    static let longest = 10 << 20
    /// The usual limit in bytes, for known and unknown peers: more than the longest message, a member's
    /// greeting with all authors and statements that a room takes (144 KiB).
    static let usualLimit = 160 << 10

    private static let headerLength = 4
    /// A larger buffer isn't kept for the next message, in bytes.
    private static let kept = 64 << 10

    enum Failure: Error, CustomStringConvertible, Equatable {
        case empty
        case tooLong(UInt32, limit: Int)

        var description: String {
            switch self {
            case .empty: "it sent an empty message, which BeamRoom never does"
            case .tooLong(let count, let limit):
                "it announced a message of \(count) bytes, more than the \(limit) allowed"
            }
        }
    }

    /// A longer message is refused, in bytes; 1 to 10 MiB. Read for each message. To be raised where a longer message
    /// is expected.
    var limit = usualLimit {
        didSet { limit = min(max(1, limit), Self.longest) }
    }

    private var held = ByteBuffer()

    /// The buffer's capacity in bytes.
    var heldCapacity: Int { held.capacity }

    mutating func append(_ bytes: ByteBuffer) {
        held.discardReadBytes()
        held.writeImmutableBuffer(bytes)
    }

    /// The next complete message; nil if there is none. Not to be called again after an error.
    mutating func next() throws(Failure) -> [UInt8]? {
        guard let count = held.getInteger(at: held.readerIndex, as: UInt32.self) else { return nil }
        guard count > 0 else { throw .empty }
        guard count <= limit else { throw .tooLong(count, limit: limit) }
        guard held.readableBytes >= Self.headerLength + Int(count) else { return nil }
        held.moveReaderIndex(forwardBy: Self.headerLength)
        let message = held.readBytes(length: Int(count))
        if held.readableBytes == 0, held.capacity > Self.kept { held = ByteBuffer() }
        return message
    }

    /// `message` with its length in front; 1 byte to 10 MiB.
    static func frame(_ message: [UInt8], allocator: ByteBufferAllocator) -> ByteBuffer {
        precondition((1...longest).contains(message.count))
        var bytes = allocator.buffer(capacity: headerLength + message.count)
        bytes.writeInteger(UInt32(message.count))
        bytes.writeBytes(message)
        return bytes
    }
}
