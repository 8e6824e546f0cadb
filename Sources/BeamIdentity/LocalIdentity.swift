import BeamProtocol
import Crypto
import Foundation
import SwiftASN1
import X509

/// What this machine proves itself with: a lasting P-256 key, and a certificate that it signs for itself.
///
/// Trust is in the public key alone. The certificate only carries it through TLS, is made anew at each start, and says
/// nothing of the machine or its owner.
public struct LocalIdentity: Sendable {
    /// What others know this machine by.
    public let deviceKey: DeviceKey
    /// The self-signed X.509 certificate (RFC 5280), in DER.
    public let certificate: [UInt8]

    private let key: P256.Signing.PrivateKey

    /// A new identity, with a key from the system's random numbers.
    public init() throws(LocalIdentityError) {
        try self.init(P256.Signing.PrivateKey())
    }

    /// The identity whose private key `privateKeyPEM` gave.
    public init(privateKeyPEM: String) throws(LocalIdentityError) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKeyPEM) else {
            throw .unreadableKey
        }
        try self.init(key)
    }

    /// The identity of a private key.
    public init(_ key: P256.Signing.PrivateKey) throws(LocalIdentityError) {
        self.key = key
        deviceKey = DeviceKey(key.publicKey)
        do {
            certificate = try Self.certificate(of: key)
        } catch {
            throw .cannotSign(reason: "\(error)")
        }
    }

    /// The private key: PKCS #8 (RFC 5958) in DER. A secret.
    public var privateKeyDER: [UInt8] { Array(key.derRepresentation) }

    /// The private key: PKCS #8 in PEM (RFC 7468). A secret.
    public var privateKeyPEM: String { key.pemRepresentation }

    /// The same for every device.
    static let commonName = "BeamRoom"
    /// The beginning and the end of what certificates can say (RFC 5280, 4.1.2.5: 99991231235959Z is "no end"): a machine
    /// whose clock is wrong isn't locked out, and nothing is to be renewed.
    static let notBefore = Date(timeIntervalSince1970: 0)
    static let notAfter = Date(timeIntervalSince1970: 253_402_300_799)

    private static func certificate(of key: P256.Signing.PrivateKey) throws -> [UInt8] {
        let name = try DistinguishedName { CommonName(commonName) }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: notBefore, notValidAfter: notAfter, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: Certificate.Extensions(),
            issuerPrivateKey: Certificate.PrivateKey(key))
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

extension LocalIdentity: CustomStringConvertible, CustomReflectable {
    /// Without the secret: this may end up in a log.
    public var description: String { "identity \(deviceKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["deviceKey": deviceKey]) }
}

/// Why there is no identity.
public enum LocalIdentityError: Error, CustomStringConvertible, Equatable {
    /// It isn't a P-256 private key.
    case unreadableKey
    case cannotSign(reason: String)

    public var description: String {
        switch self {
        case .unreadableKey: "This is not a P-256 private key in PEM."
        case .cannotSign(let reason): "The certificate of this machine's key can't be made: \(reason)."
        }
    }
}
