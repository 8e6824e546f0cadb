import BeamWire
import Crypto
import Foundation
import SwiftASN1
import X509

/// This machine's identity: a permanent P-256 key, and a self-signed certificate for it.
///
/// Peers trust the public key only. The certificate carries it through TLS, is created anew at each start, and contains
/// nothing about the machine or its owner.
public struct LocalIdentity: Sendable {
    /// The key by which other devices know this machine.
    public let deviceKey: DeviceKey
    /// The self-signed X.509 certificate (RFC 5280), in DER.
    public let certificate: [UInt8]

    private let key: P256.Signing.PrivateKey

    /// A new identity with a random key.
    public init() throws(LocalIdentityError) {
        try self.init(P256.Signing.PrivateKey())
    }

    /// An identity from its `privateKeyPEM`.
    public init(privateKeyPEM: String) throws(LocalIdentityError) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKeyPEM) else {
            throw .unreadableKey
        }
        try self.init(key)
    }

    public init(_ key: P256.Signing.PrivateKey) throws(LocalIdentityError) {
        self.key = key
        deviceKey = DeviceKey(key.publicKey)
        do {
            certificate = try Self.certificate(of: key)
        } catch {
            throw .cannotSign(reason: "\(error)")
        }
    }

    /// Signs what this machine writes to a room.
    public var roomSigning: LogSigning { LogSigning(key) }

    /// The private key: PKCS #8 (RFC 5958) in DER. A secret.
    public var privateKeyDER: [UInt8] { Array(key.derRepresentation) }

    /// The private key: PKCS #8 in PEM (RFC 7468). A secret.
    public var privateKeyPEM: String { key.pemRepresentation }

    /// The same for all devices, so that it reveals nothing.
    static let commonName = "BeamRoom"
    /// The widest validity that a certificate can express (RFC 5280, 4.1.2.5: 99991231235959Z means no expiry), so that
    /// a wrong clock locks nobody out and nothing has to be renewed.
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
    /// Without the secret, because it may be logged.
    public var description: String { "identity \(deviceKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["deviceKey": deviceKey]) }
}

/// Why an identity can't be created.
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
