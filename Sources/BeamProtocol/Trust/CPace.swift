import CSodium
import Crypto

/// Why a pairing can't go on.
enum PairingFailure: Error, Hashable, CustomStringConvertible {
    /// A share that is no element of the group, or its neutral one, or our own.
    case share
    case length(of: String, Int)
    /// What was revealed isn't what was committed to.
    case commitment
    /// The system's cryptography is of no use.
    case unavailable

    var description: String {
        switch self {
        case .share: "it sent a pairing share that can't be one"
        case .length(let what, let count): "it sent a \(what) of \(count) bytes"
        case .commitment: "what it revealed isn't what it had committed to"
        case .unavailable: "libsodium can't be used here"
        }
    }
}

/// CPace (draft-irtf-cfrg-cpace) for G_Ristretto255 with SHA-512, initiator and responder: two sides that know the same
/// six digits come by the same key, and who doesn't know them learns nothing by which to find them.
///
/// The group's operations are libsodium's. Secrets live in arrays, which Swift may copy when it moves them; the scalar, which alone would give
/// the code away, is wiped when its owner goes.
enum CPace {
    static let shareLength = Int(crypto_core_ristretto255_BYTES)
    static let scalarLength = Int(crypto_core_ristretto255_SCALARBYTES)
    static let confirmationLength = 64

    private static let separator = Array("CPaceRistretto255".utf8)
    private static let keySeparator = Array("CPaceRistretto255_ISK".utf8)
    private static let confirmationSeparator = Array("CPaceMac".utf8)
    /// SHA-512's block, in bytes: the code fills the first one alone, whatever its length.
    private static let blockLength = 128

    /// libsodium's initialisation; it may be asked for again and again, from any thread.
    static func prepare() throws(PairingFailure) {
        guard sodium_init() >= 0 else { throw .unavailable }
    }

    // MARK: Strings

    /// A length in front: LEB128, as many bytes as it takes.
    static func lengthPrefixed(_ bytes: [UInt8]) -> [UInt8] {
        var prefix: [UInt8] = []
        var rest = bytes.count
        repeat {
            prefix.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return prefix + bytes
    }

    /// The draft's lv_cat.
    static func concatenated(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap(lengthPrefixed) }

    // MARK: The group

    /// The element that the code selects.
    static func generator(password: [UInt8], channel: [UInt8], session: [UInt8]) -> [UInt8] {
        let used = lengthPrefixed(password).count + lengthPrefixed(separator).count
        let padding = [UInt8](repeating: 0, count: max(0, blockLength - 1 - used))
        let hash = Array(SHA512.hash(data: concatenated(separator, password, padding, channel, session)))
        var element = [UInt8](repeating: 0, count: shareLength)
        // Can't fail: every 64 bytes are mapped to an element.
        _ = crypto_core_ristretto255_from_hash(&element, hash)
        return element
    }

    /// Refuses what is no element, and what makes the neutral one.
    static func multiply(_ scalar: [UInt8], _ element: [UInt8]) throws(PairingFailure) -> [UInt8] {
        guard element.count == shareLength else { throw .length(of: "pairing share", element.count) }
        var product = [UInt8](repeating: 0, count: shareLength)
        guard crypto_scalarmult_ristretto255(&product, scalar, element) == 0 else { throw .share }
        return product
    }

    // MARK: Keys

    struct Share {
        var element: [UInt8]
        var data: [UInt8]

        var transcript: [UInt8] { concatenated(element, data) }
    }

    /// The intermediate session key.
    static func sessionKey(session: [UInt8], secret: [UInt8], initiator: Share, responder: Share) -> [UInt8] {
        let input =
            concatenated(keySeparator, session, secret) + initiator.transcript + responder.transcript
        return Array(SHA512.hash(data: input))
    }

    /// What the tags are made with.
    static func confirmationKey(session: [UInt8], sessionKey: [UInt8]) -> SymmetricKey {
        SymmetricKey(data: Array(SHA512.hash(data: confirmationSeparator + session + sessionKey)))
    }

    static func tag(_ share: Share, _ key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA512>.authenticationCode(for: share.transcript, using: key))
    }

    /// In constant time.
    static func isValid(_ tag: [UInt8], of share: Share, _ key: SymmetricKey) -> Bool {
        HMAC<SHA512>.isValidAuthenticationCode(tag, authenticating: share.transcript, using: key)
    }
}

/// A secret number, wiped when its owner goes.
final class SecretScalar: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A fresh one, from the system's generator.
    static func random() -> SecretScalar {
        var bytes = [UInt8](repeating: 0, count: CPace.scalarLength)
        crypto_core_ristretto255_scalar_random(&bytes)
        return SecretScalar(bytes)
    }

    deinit {
        bytes.withUnsafeBytes { memory in
            guard let start = memory.baseAddress else { return }
            // The array has no other owner, and is about to be freed.
            sodium_memzero(UnsafeMutableRawPointer(mutating: start), memory.count)
        }
    }
}

extension PairingContext {
    /// The draft's CI: what the code's element is bound to besides the code.
    var channel: [UInt8] {
        CPace.concatenated(Array("BeamRoom 2".utf8), viewer.bytes, host.bytes)
    }

    /// The draft's sid.
    var session: [UInt8] { Array(nonce.prefix(16)) }

    func generator(_ code: PairingCode) -> [UInt8] {
        CPace.generator(password: Array(code.description.utf8), channel: channel, session: session)
    }
}

/// The viewer's side of CPace: the initiator.
struct CPaceViewer: Sendable {
    /// What the viewer has said, and what has to come back.
    struct Confirmed: Sendable {
        /// The viewer's tag: it proves to the host that the code was typed.
        let confirmation: [UInt8]
        fileprivate let key: SymmetricKey
        fileprivate let host: [UInt8]
        fileprivate let hostName: [UInt8]

        /// Whether the host's tag proves that it knows the code, and the same two keys.
        func verify(_ tag: [UInt8]) -> Bool {
            CPace.isValid(tag, of: CPace.Share(element: host, data: hostName), key)
        }
    }

    private let context: PairingContext
    private let scalar: SecretScalar
    let share: [UInt8]

    init(code: PairingCode, context: PairingContext) throws(PairingFailure) {
        try CPace.prepare()
        try self.init(code: code, context: context, scalar: .random())
    }

    init(code: PairingCode, context: PairingContext, scalar: SecretScalar) throws(PairingFailure) {
        self.context = context
        self.scalar = scalar
        share = try CPace.multiply(scalar.bytes, context.generator(code))
    }

    func confirm(hostShare: [UInt8]) throws(PairingFailure) -> Confirmed {
        // Its own share come back would make its own tag come back too.
        guard hostShare != share else { throw .share }
        let secret = try CPace.multiply(scalar.bytes, hostShare)
        let viewer = CPace.Share(element: share, data: Array(context.viewerName.utf8))
        let host = CPace.Share(element: hostShare, data: Array(context.hostName.utf8))
        let key = CPace.confirmationKey(
            session: context.session,
            sessionKey: CPace.sessionKey(session: context.session, secret: secret, initiator: viewer, responder: host))
        return Confirmed(confirmation: CPace.tag(viewer, key), key: key, host: host.element, hostName: host.data)
    }
}

/// The host's side of CPace: the responder.
struct CPaceHost: Sendable {
    let share: [UInt8]
    private let key: SymmetricKey
    private let viewer: [UInt8]
    private let context: PairingContext

    init(code: PairingCode, context: PairingContext, viewerShare: [UInt8]) throws(PairingFailure) {
        try CPace.prepare()
        try self.init(code: code, context: context, viewerShare: viewerShare, scalar: .random())
    }

    init(
        code: PairingCode, context: PairingContext, viewerShare: [UInt8], scalar: SecretScalar
    ) throws(PairingFailure) {
        self.context = context
        viewer = viewerShare
        share = try CPace.multiply(scalar.bytes, context.generator(code))
        guard viewerShare != share else { throw .share }
        let secret = try CPace.multiply(scalar.bytes, viewerShare)
        key = CPace.confirmationKey(
            session: context.session,
            sessionKey: CPace.sessionKey(
                session: context.session, secret: secret,
                initiator: CPace.Share(element: viewerShare, data: Array(context.viewerName.utf8)),
                responder: CPace.Share(element: share, data: Array(context.hostName.utf8))))
    }

    /// The host's tag, if the viewer's is right; nil if another code was typed, or somebody stands in between.
    func answer(to confirmation: [UInt8]) -> [UInt8]? {
        let viewer = CPace.Share(element: viewer, data: Array(context.viewerName.utf8))
        guard CPace.isValid(confirmation, of: viewer, key) else { return nil }
        return CPace.tag(CPace.Share(element: share, data: Array(context.hostName.utf8)), key)
    }
}
