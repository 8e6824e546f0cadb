import NIOCore

/// How messages stand in version 2's control stream: four bytes of length, big-endian, then so many bytes.
///
/// Bytes go in as they arrive, messages come out. What is held is bounded by what has arrived, whatever was announced.
struct MessageFraming {
    /// What the format allows, in bytes.
    static let longest = 10 << 20
    /// What is taken of anybody, known or not, in bytes: far more than the longest message that there is today.
    static let usualLimit = 64 << 10

    private static let headerLength = 4
    /// More memory than this isn't kept for the next message, in bytes.
    private static let kept = 64 << 10

    enum Failure: Error, CustomStringConvertible, Equatable {
        case empty
        case tooLong(UInt32, limit: Int)

        var description: String {
            switch self {
            case .empty: "it sent a message of no bytes, which BeamRoom never does"
            case .tooLong(let count, let limit):
                "it announced a message of \(count) bytes, where \(limit) are the most"
            }
        }
    }

    /// A longer message is refused; 1…10 MiB. Asked anew for each message. To be raised where a longer one is expected.
    var limit = usualLimit {
        didSet { limit = min(max(1, limit), Self.longest) }
    }

    private var held = ByteBuffer()

    /// Memory for what waits for the rest of its message, in bytes.
    var heldCapacity: Int { held.capacity }

    mutating func append(_ bytes: ByteBuffer) {
        held.discardReadBytes()
        held.writeImmutableBuffer(bytes)
    }

    /// The next message that is there as a whole; nil if there is none. After an error there is nothing more to be had.
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

    /// `message` as it goes out: 1 byte to 10 MiB.
    static func frame(_ message: [UInt8], allocator: ByteBufferAllocator) -> ByteBuffer {
        precondition((1...longest).contains(message.count))
        var bytes = allocator.buffer(capacity: headerLength + message.count)
        bytes.writeInteger(UInt32(message.count))
        bytes.writeBytes(message)
        return bytes
    }
}
