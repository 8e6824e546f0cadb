import BeamWire
import Crypto
import Foundation
import SwiftASN1
import X509

/// The certificate with which this machine serves browsers by https: self-signed, over a P-256 key of its own, which isn't the
/// one that devices know it by.
///
/// A browser that was told to accept it does so as long as it is the same to the byte, so it is kept together with its key.
public struct WebIdentity: Sendable {
    /// X.509 (RFC 5280), in DER.
    public let certificate: [UInt8]
    private let key: P256.Signing.PrivateKey

    /// A new key with a certificate for these names and addresses.
    ///
    /// - Parameters:
    ///   - names: such as `desk` and `desk.local`. Those that can't stand in a certificate are left out.
    ///   - addresses: numeric, of the machine.
    public init(names: [String], addresses: [IPAddress]) throws(LocalIdentityError) {
        key = P256.Signing.PrivateKey()
        do {
            certificate = try Self.certificate(of: key, names: names.filter(Self.isName), addresses: addresses)
        } catch {
            throw .cannotSign(reason: "\(error)")
        }
    }

    /// What `pem` is.
    public init(pem: String) throws(LocalIdentityError) {
        guard let documents = try? PEMDocument.parseMultiple(pemString: pem),
            let first = documents.first(where: { $0.discriminator == "CERTIFICATE" }),
            let certificate = try? Certificate(derEncoded: first.derBytes),
            let secret = documents.first(where: { $0.discriminator == "PRIVATE KEY" }),
            let key = try? P256.Signing.PrivateKey(derRepresentation: secret.derBytes),
            Certificate.PublicKey(key.publicKey) == certificate.publicKey
        else { throw .unreadableKey }
        self.certificate = first.derBytes
        self.key = key
    }

    /// The private key (PKCS #8) and the certificate, in PEM (RFC 7468). A secret.
    public var pem: String {
        key.pemRepresentation + "\n" + PEMDocument(type: "CERTIFICATE", derBytes: certificate).pemString + "\n"
    }

    /// The private key: PKCS #8 in DER. A secret.
    public var privateKeyDER: [UInt8] { Array(key.derRepresentation) }

    /// The DNS names that it is for.
    public var names: [String] { Self.names(inCertificate: certificate) }

    /// The DNS names that a certificate in DER is for; none if it can't be read.
    public static func names(inCertificate der: [UInt8]) -> [String] {
        guard let certificate = try? Certificate(derEncoded: der),
            let names = try? certificate.extensions.subjectAlternativeNames
        else { return [] }
        return names.compactMap { if case .dnsName(let name) = $0 { name.lowercased() } else { nil } }
    }

    private static func certificate(
        of key: P256.Signing.PrivateKey, names: [String], addresses: [IPAddress]
    ) throws -> [UInt8] {
        let own = try DistinguishedName { CommonName(LocalIdentity.commonName) }
        let alternatives =
            names.map { GeneralName.dnsName($0) }
            + addresses.map { GeneralName.ipAddress(ASN1OctetString(contentBytes: $0.bytes[...])) }
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth])
            SubjectAlternativeNames(alternatives)
        }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: LocalIdentity.notBefore, notValidAfter: LocalIdentity.notAfter, issuer: own, subject: own,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: Certificate.PrivateKey(key))
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// Letters, digits, hyphens and dots (RFC 5280, 4.2.1.6).
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 253
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
                default: false
                }
            }
    }
}

extension WebIdentity: CustomStringConvertible, CustomReflectable {
    /// Without the secret, because it may be logged.
    public var description: String { "certificate for \(names.joined(separator: ", "))" }
    public var customMirror: Mirror { Mirror(self, children: ["names": names]) }
}

extension IPAddress {
    /// In network order: 4 or 16.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .v4(let bits): withUnsafeBytes(of: bits.bigEndian) { Array($0) }
        case .v6(let high, let low, _):
            withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
        }
    }
}
