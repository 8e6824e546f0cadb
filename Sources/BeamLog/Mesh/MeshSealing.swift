import Crypto

/// Seals messages for one member, so that those who pass them on can't read them.
///
/// HPKE (RFC 9180) in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. Each run of a program has a
/// key of its own, which the member's status tells: nobody can read such a message later, not even with the identity key.
/// Who has written it is proved by the author's signature of its log.
public struct MeshSealing: Sendable {
    /// Of this run: a P-256 public key (SEC 1, uncompressed point).
    public var publicKey: [UInt8]
    /// Nil if `key` isn't a valid public key. `binding` isn't sent, and has to be the same when the text is opened.
    public var seal: @Sendable (_ text: [UInt8], _ key: [UInt8], _ binding: [UInt8]) -> [UInt8]?
    /// Nil if it wasn't sealed for this run, or was changed.
    public var open: @Sendable (_ sealed: [UInt8], _ binding: [UInt8]) -> [UInt8]?

    /// With other functions, for simulations that can't spend the time.
    init(
        publicKey: [UInt8], seal: @escaping @Sendable ([UInt8], [UInt8], [UInt8]) -> [UInt8]?,
        open: @escaping @Sendable ([UInt8], [UInt8]) -> [UInt8]?
    ) {
        self.publicKey = publicKey
        self.seal = seal
        self.open = open
    }

    private static let suite = HPKE.Ciphersuite.P256_SHA256_AES_GCM_256
    private static let info = Array("BeamRoom 2 message".utf8)
    private static let encapsulatedLength = 65

    /// With a new key.
    public init() {
        let key = P256.KeyAgreement.PrivateKey()
        publicKey = Array(key.publicKey.x963Representation)
        seal = { text, recipient, binding in
            guard let recipient = try? P256.KeyAgreement.PublicKey(x963Representation: recipient),
                var sender = try? HPKE.Sender(recipientKey: recipient, ciphersuite: Self.suite, info: .init(Self.info)),
                let sealed = try? sender.seal(text, authenticating: binding)
            else { return nil }
            return Array(sender.encapsulatedKey) + sealed
        }
        open = { sealed, binding in
            guard sealed.count > Self.encapsulatedLength else { return nil }
            let encapsulated = sealed[..<Self.encapsulatedLength]
            guard
                var recipient = try? HPKE.Recipient(
                    privateKey: key, ciphersuite: Self.suite, info: .init(Self.info),
                    encapsulatedKey: .init(encapsulated)),
                let text = try? recipient.open(sealed[Self.encapsulatedLength...], authenticating: binding)
            else { return nil }
            return Array(text)
        }
    }
}
