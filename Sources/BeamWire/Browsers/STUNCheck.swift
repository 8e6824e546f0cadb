import BeamMedia

/// A binding request of the host's own: whether the browser receives what is sent to an address (RFC 7675).
///
/// Only whoever has received it knows its transaction, so that nobody can have the stream sent to another machine, by
/// requests with that machine's address.
public struct STUNCheck: Sendable {
    /// 12 random bytes.
    private let transaction: [UInt8]

    public init(random: inout some RandomNumberGenerator) {
        transaction = (0..<12).map { _ in .random(in: 0...255, using: &random) }
    }

    /// The request (RFC 8445, 7.2).
    ///
    /// - Parameters:
    ///   - name: the host's ICE name.
    ///   - browser: the browser's, and its password, as its answer has told them.
    public func request(from name: String, to browser: String, password: String) -> [UInt8] {
        let username = Array("\(browser):\(name)".utf8)
        var message: [UInt8] = []
        message.append(bigEndian: 0x0001_0000 as UInt32)
        message.append(bigEndian: STUN.cookie)
        message += transaction
        message.append(bigEndian: STUN.Attribute.username)
        message.append(bigEndian: UInt16(clamping: username.count))
        message += username
        message += [UInt8](repeating: 0, count: -username.count & 3)
        // Of a peer-reflexive candidate; and the role of an agent that doesn't choose (7.1.1, 7.1.3).
        message.append(bigEndian: STUN.Attribute.priority)
        message.append(bigEndian: UInt16(4))
        message.append(bigEndian: 0x6E00_01FF as UInt32)
        message.append(bigEndian: STUN.Attribute.controlled)
        message.append(bigEndian: UInt16(8))
        message += transaction[..<8]
        STUN.seal(&message, password: password)
        return message
    }

    /// Whether the datagram is the browser's answer to it.
    public func isAnswered(by bytes: UnsafeRawBufferPointer, password: String) -> Bool {
        var reader = BigEndianReader(bytes)
        guard bytes.count <= STUN.longest, let kind: UInt16 = reader.integer(), kind == 0x0101,
            let length: UInt16 = reader.integer(), Int(length) == bytes.count - STUN.headerLength, length % 4 == 0,
            let cookie: UInt32 = reader.integer(), cookie == STUN.cookie, let answered = reader.bytes(12),
            answered.elementsEqual(transaction)
        else { return false }
        while !reader.rest.isEmpty {
            let offset = bytes.count - reader.rest.count
            guard let kind: UInt16 = reader.integer(), let length: UInt16 = reader.integer(),
                let value = reader.bytes(Int(length)), reader.bytes(-Int(length) & 3) != nil
            else { return false }
            guard kind == STUN.Attribute.integrity else { continue }
            guard value.count == 20 else { return false }
            let expected = STUN.integrity(bytes, before: offset, password: password)
            return zip(expected, value).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
        return false
    }
}
