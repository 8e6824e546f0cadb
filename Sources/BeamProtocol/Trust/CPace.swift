import CSodium
import Crypto

/// Why a pairing can't go on.
enum PairingFailure: Error, Hashable, CustomStringConvertible {
    /// A share that is no element of the group, or its neutral one, or our own.
    case share
    case length(of: String, Int)
    /// What was revealed isn't what was committed to.
    case commitment
    /// As many digits are never compared.
    case digitCount(Int)
    /// The system's cryptography is of no use.
    case unavailable

    var description: String {
        switch self {
        case .share: "it sent a pairing share that can't be one"
        case .length(let what, let count): "it sent a \(what) of \(count) bytes"
        case .commitment: "what it revealed isn't what it had committed to"
        case .digitCount(let count): "it wants \(count) digits compared, where six or nine are"
        case .unavailable: "libsodium can't be used here"
        }
    }
}

/// CPace (draft-irtf-cfrg-cpace-21) for G_Ristretto255 with SHA-512, initiator and responder: two sides that know the
/// same six digits come by the same key, and who doesn't know them learns nothing by which to find them.
///
/// The group's operations are libsodium's. Whatever would let somebody search for the code (the generator, the scalar,
/// K and the session key) is kept in `SecretBytes`, the key of the tags in swift-crypto's memory, which is wiped too.
enum CPace {
    static let shareLength = Int(crypto_core_ristretto255_BYTES)
    static let scalarLength = Int(crypto_core_ristretto255_SCALARBYTES)
    static let confirmationLength = 64

    private static let separator = Array("CPaceRistretto255".utf8)
    private static let keySeparator = Array("CPaceRistretto255_ISK".utf8)
    private static let confirmationSeparator = Array("CPaceMac".utf8)
    /// SHA-512's block, in bytes: the code fills the first one alone, whatever its length.
    private static let blockLength = 128
    /// libsodium's initialisation, once for the process.
    private static let isReady = sodium_init() >= 0

    /// Has to succeed before anything else of libsodium is used.
    static func prepare() throws(PairingFailure) {
        guard isReady else { throw .unavailable }
    }

    // MARK: Strings (6.3)

    /// LEB128, as many bytes as it takes.
    static func lengthPrefix(_ count: Int) -> [UInt8] {
        var prefix: [UInt8] = []
        var rest = count
        repeat {
            prefix.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return prefix
    }

    /// The draft's lv_cat.
    static func concatenated(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { lengthPrefix($0.count) + $0 } }

    // MARK: The group (8.1, 8.3)

    /// The element that the code selects.
    static func generator(
        password: SecretBytes, channel: [UInt8], session: [UInt8]
    ) throws(PairingFailure) -> SecretBytes {
        let prefix = lengthPrefix(password.count)
        let used = prefix.count + password.count + concatenated(separator).count
        let padding = [UInt8](repeating: 0, count: max(0, blockLength - 1 - used))
        let hash = try SecretBytes.hash(
            .open(concatenated(separator) + prefix), .secret(password), .open(concatenated(padding, channel, session)))
        return try SecretBytes(count: shareLength) { memory in
            // Can't fail: all 64 bytes are mapped to an element.
            _ = hash.withBytes { crypto_core_ristretto255_from_hash(memory, $0) }
        }
    }

    /// What is sent: Ya or Yb.
    static func share(_ scalar: SecretBytes, _ generator: SecretBytes) throws(PairingFailure) -> [UInt8] {
        var share = [UInt8](repeating: 0, count: shareLength)
        let result = scalar.withBytes { scalar in
            generator.withBytes { crypto_scalarmult_ristretto255(&share, scalar, $0) }
        }
        guard result == 0 else { throw .share }
        return share
    }

    /// The draft's K. Refuses what is no element, and the neutral one.
    static func secret(_ scalar: SecretBytes, with share: [UInt8]) throws(PairingFailure) -> SecretBytes {
        guard share.count == shareLength else { throw .length(of: "pairing share", share.count) }
        // libsodium 1.0.18 overlooks the highest bit, and so takes two encodings for the same element (RFC 9496, 4.3.1,
        // allows one): our own share could come back in disguise.
        guard share[shareLength - 1] & 0x80 == 0 else { throw .share }
        return try SecretBytes(count: shareLength) { memory throws(PairingFailure) in
            let result = scalar.withBytes { crypto_scalarmult_ristretto255(memory, $0, share) }
            guard result == 0 else { throw .share }
        }
    }

    // MARK: Keys (7.2, 10.4)

    struct Share {
        var element: [UInt8]
        var data: [UInt8]

        var transcript: [UInt8] { concatenated(element, data) }
    }

    /// The intermediate session key, ISK.
    static func sessionKey(
        session: [UInt8], secret: SecretBytes, initiator: Share, responder: Share
    ) throws(PairingFailure) -> SecretBytes {
        try .hash(
            .open(concatenated(keySeparator, session) + lengthPrefix(secret.count)), .secret(secret),
            .open(initiator.transcript + responder.transcript))
    }

    /// What the tags are made with.
    static func confirmationKey(session: [UInt8], sessionKey: SecretBytes) throws(PairingFailure) -> SymmetricKey {
        let hash = try SecretBytes.hash(.open(confirmationSeparator + session), .secret(sessionKey))
        return hash.withBytes { SymmetricKey(data: UnsafeRawBufferPointer(start: $0, count: hash.count)) }
    }

    static func tag(_ share: Share, _ key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA512>.authenticationCode(for: share.transcript, using: key))
    }

    /// In constant time.
    static func isValid(_ tag: [UInt8], of share: Share, _ key: SymmetricKey) -> Bool {
        HMAC<SHA512>.isValidAuthenticationCode(tag, authenticating: share.transcript, using: key)
    }
}
