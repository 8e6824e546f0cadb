import CSodium
import Crypto

package enum PairingFailure: Error, Hashable, CustomStringConvertible {
    /// The peer's share isn't a group element, is the neutral element, or is our own share.
    case share
    case length(of: String, Int)
    /// The revealed nonce doesn't match the commitment.
    case commitment
    /// A digit count other than 6 or 9.
    case digitCount(Int)
    /// libsodium couldn't be initialised, or has no memory.
    case unavailable

    package var description: String {
        switch self {
        case .share: "it sent an invalid pairing share"
        case .length(let what, let count): "it sent a \(what) of \(count) bytes"
        case .commitment: "what it revealed isn't what it had committed to"
        case .digitCount(let count): "it wants to compare \(count) digits; only six or nine are allowed"
        case .unavailable: "libsodium can't be used on this machine"
        }
    }
}

/// CPace (draft-irtf-cfrg-cpace-21) for G_Ristretto255 with SHA-512, initiator and responder: two sides that know the
/// same six digits derive the same key. Without the digits, each connection allows one guess.
///
/// libsodium does the group operations. Values from which the code could be searched offline (the generator, the
/// scalar, K and the session key) are kept in `SecretBytes`; the key of the tags is in swift-crypto's memory, which is
/// wiped, too.
enum CPace {
    static let shareLength = Int(crypto_core_ristretto255_BYTES)
    static let scalarLength = Int(crypto_core_ristretto255_SCALARBYTES)
    static let confirmationLength = 64

    private static let separator = Array("CPaceRistretto255".utf8)
    private static let keySeparator = Array("CPaceRistretto255_ISK".utf8)
    private static let confirmationSeparator = Array("CPaceMac".utf8)
    /// SHA-512's block length in bytes. The draft pads the code to a full block.
    private static let blockLength = 128
    /// Initialises libsodium, once for the process.
    private static let isReady = sodium_init() >= 0

    /// Call it before any other function of libsodium.
    static func prepare() throws(PairingFailure) {
        guard isReady else { throw .unavailable }
    }

    // MARK: Strings (6.3)

    /// `count` in LEB128.
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

    /// The draft's generator, calculated from the code.
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

    /// Ya or Yb, which is sent.
    static func share(_ scalar: SecretBytes, _ generator: SecretBytes) throws(PairingFailure) -> [UInt8] {
        var share = [UInt8](repeating: 0, count: shareLength)
        let result = scalar.withBytes { scalar in
            generator.withBytes { crypto_scalarmult_ristretto255(&share, scalar, $0) }
        }
        guard result == 0 else { throw .share }
        return share
    }

    /// The draft's K. Throws for a share that isn't an element, and for the neutral element.
    static func secret(_ scalar: SecretBytes, with share: [UInt8]) throws(PairingFailure) -> SecretBytes {
        guard share.count == shareLength else { throw .length(of: "pairing share", share.count) }
        // libsodium 1.0.18 ignores the highest bit and so accepts two encodings of an element, where RFC 9496, 4.3.1
        // allows one. Our own share could be sent back with that bit set.
        guard share[shareLength - 1] & 0x80 == 0 else { throw .share }
        return try SecretBytes(count: shareLength) { memory throws(PairingFailure) in
            let result = scalar.withBytes { crypto_scalarmult_ristretto255(memory, $0, share) }
            guard result == 0 else { throw .share }
        }
    }

    // MARK: Keys (7.2, 10.4)

    package struct Share {
        package var element: [UInt8]
        package var data: [UInt8]

        package init(element: [UInt8], data: [UInt8]) {
            self.element = element
            self.data = data
        }

        package var transcript: [UInt8] { concatenated(element, data) }
    }

    /// The intermediate session key, ISK.
    static func sessionKey(
        session: [UInt8], secret: SecretBytes, initiator: Share, responder: Share
    ) throws(PairingFailure) -> SecretBytes {
        try .hash(
            .open(concatenated(keySeparator, session) + lengthPrefix(secret.count)), .secret(secret),
            .open(initiator.transcript + responder.transcript))
    }

    /// The key of the confirmation tags.
    static func confirmationKey(session: [UInt8], sessionKey: SecretBytes) throws(PairingFailure) -> SymmetricKey {
        let hash = try SecretBytes.hash(.open(confirmationSeparator + session), .secret(sessionKey))
        return hash.withBytes { SymmetricKey(data: UnsafeRawBufferPointer(start: $0, count: hash.count)) }
    }

    static func tag(_ share: Share, _ key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA512>.authenticationCode(for: share.transcript, using: key))
    }

    /// Compares in constant time.
    static func isValid(_ tag: [UInt8], of share: Share, _ key: SymmetricKey) -> Bool {
        HMAC<SHA512>.isValidAuthenticationCode(tag, authenticating: share.transcript, using: key)
    }
}
