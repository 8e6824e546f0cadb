import BeamMedia
import Crypto

/// Messages of STUN (RFC 8489) as far as ICE's connectivity checks (RFC 8445, 7) need them.
public enum STUN {
    /// Longer requests aren't read. Those of browsers have about 100 bytes.
    public static let longest = 1280
    static let headerLength = 20
    static let cookie: UInt32 = 0x2112_A442
    /// A MESSAGE-INTEGRITY attribute, and a FINGERPRINT, in bytes.
    static let integrityLength = 24
    static let fingerprintLength = 8

    enum Attribute {
        static let username: UInt16 = 0x0006
        static let integrity: UInt16 = 0x0008
        static let xorMappedAddress: UInt16 = 0x0020
        static let priority: UInt16 = 0x0024
        static let useCandidate: UInt16 = 0x0025
        static let fingerprint: UInt16 = 0x8028
        static let controlled: UInt16 = 0x8029
    }

    /// Whether the datagram says that it is a request, and not an answer (RFC 8489, 5).
    public static func isRequest(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= 2 && bytes[0] == 0 && bytes[1] == 1
    }

    /// Whether the datagram is for STUN, and not DTLS, RTP or RTCP (RFC 7983, 7): the first byte is 0 to 3.
    public static func isMessage(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= headerLength, bytes[0] < 4 else { return false }
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) == cookie
    }

    /// HMAC-SHA1 of what stands before the MESSAGE-INTEGRITY at `offset`, with the header's length as if the message
    /// ended with it (RFC 8489, 14.5).
    static func integrity(_ bytes: UnsafeRawBufferPointer, before offset: Int, password: String) -> [UInt8] {
        var hash = HMAC<Insecure.SHA1>(key: SymmetricKey(data: Array(password.utf8)))
        start(of: bytes, before: offset, length: offset + integrityLength) { hash.update(data: $0) }
        return Array(hash.finalize())
    }

    /// The CRC-32 of what stands before the FINGERPRINT at `offset` (14.7).
    static func fingerprint(_ bytes: UnsafeRawBufferPointer, before offset: Int) -> UInt32 {
        var crc: UInt32 = .max
        start(of: bytes, before: offset, length: offset + fingerprintLength) { part in
            for byte in part {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
            }
        }
        return ~crc ^ 0x5354_554E
    }

    /// The message's bytes up to `offset`, with another length in its header.
    private static func start(
        of bytes: UnsafeRawBufferPointer, before offset: Int, length: Int, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        withUnsafeBytes(of: UInt16(clamping: length - headerLength).bigEndian) { length in
            body(UnsafeRawBufferPointer(rebasing: bytes[..<2]))
            body(length)
        }
        body(UnsafeRawBufferPointer(rebasing: bytes[4..<offset]))
    }

    /// Appends MESSAGE-INTEGRITY and FINGERPRINT, and sets the header's length.
    static func seal(_ message: inout [UInt8], password: String) {
        let code = message.withUnsafeBytes { integrity($0, before: $0.count, password: password) }
        message.append(bigEndian: Attribute.integrity)
        message.append(bigEndian: UInt16(code.count))
        message += code
        let check = message.withUnsafeBytes { fingerprint($0, before: $0.count) }
        message.append(bigEndian: Attribute.fingerprint)
        message.append(bigEndian: UInt16(4))
        message.append(bigEndian: check)
        let length = message.count - headerLength
        message[2] = UInt8(length >> 8)
        message[3] = UInt8(length & 0xFF)
    }
}

/// A binding request (RFC 8489, 3), as an ICE agent checks a candidate with it. It isn't authentic before
/// `isAuthentic` says so.
public struct STUNRequest: Sendable, Hashable {
    /// Why a datagram isn't a request that can be answered.
    public enum Failure: Error, Hashable, Sendable {
        /// Not a binding request: something else, or too long.
        case notARequest
        /// The attributes don't add up, or one comes twice.
        case malformed
        /// An attribute is missing: the name or the code.
        case incomplete
        /// Its FINGERPRINT is wrong.
        case damaged
        /// It has an attribute that has to be understood, and isn't.
        case unknownAttribute(UInt16)
    }

    /// 12 bytes.
    let transaction: [UInt8]
    /// The host's ICE name: of the USERNAME, what stands before the colon (RFC 8445, 7.2.2).
    public let name: String
    /// The browser's own: what stands behind it.
    public let peerName: String
    /// The browser nominates this candidate pair.
    public let nominates: Bool
    private let integrityOffset: Int

    /// - Throws: `Failure`.
    public init(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var reader = BigEndianReader(bytes)
        guard bytes.count <= STUN.longest, let kind: UInt16 = reader.integer(), kind == 0x0001,
            let length: UInt16 = reader.integer(), Int(length) == bytes.count - STUN.headerLength, length % 4 == 0,
            let cookie: UInt32 = reader.integer(), cookie == STUN.cookie, let transaction = reader.bytes(12)
        else { throw .notARequest }
        self.transaction = Array(transaction)
        let found = try Attributes(bytes, &reader)
        guard let names = found.names, let integrityOffset = found.integrityOffset else { throw .incomplete }
        (name, peerName) = names
        self.integrityOffset = integrityOffset
        nominates = found.nominates
    }

    private struct Attributes {
        var names: (host: String, browser: String)?
        var integrityOffset: Int?
        var nominates = false

        init(_ bytes: UnsafeRawBufferPointer, _ reader: inout BigEndianReader) throws(Failure) {
            while !reader.rest.isEmpty {
                let offset = bytes.count - reader.rest.count
                guard let kind: UInt16 = reader.integer(), let length: UInt16 = reader.integer(),
                    let value = reader.bytes(Int(length)), reader.bytes(-Int(length) & 3) != nil
                else { throw .malformed }
                if kind == STUN.Attribute.fingerprint {
                    // The last one (14.7).
                    guard reader.rest.isEmpty, length == 4 else { throw .malformed }
                    let check = UInt32(bigEndian: value.loadUnaligned(as: UInt32.self))
                    guard check == STUN.fingerprint(bytes, before: offset) else { throw .damaged }
                } else if integrityOffset == nil {
                    try read(kind, value, at: offset)
                }
                // What stands behind the code isn't protected by it, and doesn't count (14.5).
            }
        }

        private mutating func read(_ kind: UInt16, _ value: UnsafeRawBufferPointer, at offset: Int) throws(Failure) {
            switch kind {
            case STUN.Attribute.username:
                // 513 bytes at most (14.3).
                guard names == nil, value.count <= 513, let colon = value.firstIndex(of: UInt8(ascii: ":")) else {
                    throw .malformed
                }
                names = (
                    String(decoding: value[..<colon], as: UTF8.self),
                    String(decoding: value[(colon + 1)...], as: UTF8.self)
                )
            case STUN.Attribute.integrity:
                guard value.count == 20 else { throw .malformed }
                integrityOffset = offset
            case STUN.Attribute.useCandidate: nominates = true
            case STUN.Attribute.priority: break
            case 0..<0x8000: throw .unknownAttribute(kind)
            default: break
            }
        }
    }

    /// Whether whoever made the request knows the password. `bytes`: the request again. Takes the same time for any wrong
    /// code.
    public func isAuthentic(_ bytes: UnsafeRawBufferPointer, password: String) -> Bool {
        guard integrityOffset + STUN.integrityLength <= bytes.count else { return false }
        let expected = STUN.integrity(bytes, before: integrityOffset, password: password)
        let given = bytes[(integrityOffset + 4)..<(integrityOffset + STUN.integrityLength)]
        return zip(expected, given).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The answer (RFC 8445, 7.3): from which address the request came. It is about as long as the request.
    public func answer(from address: NetworkAddress, password: String) -> [UInt8] {
        var message: [UInt8] = []
        message.append(bigEndian: 0x0101_0000 as UInt32)
        message.append(bigEndian: STUN.cookie)
        message += transaction
        message.append(bigEndian: STUN.Attribute.xorMappedAddress)
        let port = address.port ^ UInt16(STUN.cookie >> 16)
        switch address.ip {
        case .v4(let bits):
            message.append(bigEndian: UInt16(8))
            message.append(bigEndian: UInt16(1))
            message.append(bigEndian: port)
            message.append(bigEndian: bits ^ STUN.cookie)
        case .v6(let high, let low, _):
            message.append(bigEndian: UInt16(20))
            message.append(bigEndian: UInt16(2))
            message.append(bigEndian: port)
            var (key, rest) = (UInt64(STUN.cookie), UInt64(0))
            for byte in transaction[..<4] { key = key << 8 | UInt64(byte) }
            for byte in transaction[4...] { rest = rest << 8 | UInt64(byte) }
            message.append(bigEndian: high ^ key)
            message.append(bigEndian: low ^ rest)
        }
        STUN.seal(&message, password: password)
        return message
    }
}
