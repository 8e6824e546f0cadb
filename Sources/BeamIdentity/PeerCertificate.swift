import BeamWire
import Crypto
import Foundation
import X509

/// Checks the peer's TLS certificate. This is the only check: there is no authority, no chain and no host name.
public enum PeerCertificate {
    /// The maximum size of a certificate in bytes of DER. BeamRoom's own take about 300.
    public static let maxBytes = 16 << 10

    /// The peer's device key, if the chain is a single certificate for a P-256 key, self-signed and currently valid.
    ///
    /// TLS itself verifies that the peer has the private key. Extensions are ignored: they would restrict an authority,
    /// and there is none.
    ///
    /// - Parameter chain: the presented certificates in DER, the peer's own first.
    public static func check(_ chain: [[UInt8]], now: Date = Date()) throws(PeerCertificateError) -> DeviceKey {
        guard let bytes = chain.first else { throw .missing }
        guard chain.count == 1 else { throw .several(chain.count) }
        guard bytes.count <= maxBytes else { throw .tooLong(bytes.count) }
        guard let certificate = try? Certificate(derEncoded: bytes) else { throw .unreadable }
        guard let key = P256.Signing.PublicKey(certificate.publicKey) else { throw .unsupportedKey }
        guard certificate.issuer == certificate.subject else { throw .signedByAnother }
        guard certificate.publicKey.isValidSignature(certificate.signature, for: certificate) else {
            throw .wrongSignature
        }
        guard certificate.notValidBefore <= now else { throw .notYetValid }
        guard now <= certificate.notValidAfter else { throw .expired }
        return DeviceKey(key)
    }
}

/// What is wrong with the peer's certificate.
public enum PeerCertificateError: Error, CustomStringConvertible, Hashable {
    case missing
    case several(Int)
    case tooLong(Int)
    case unreadable
    case unsupportedKey
    case signedByAnother
    case wrongSignature
    case notYetValid
    case expired

    /// Part of a sentence: it follows "no connection:" or the like.
    public var description: String {
        switch self {
        case .missing:
            "the other side has shown no certificate, so its identity can't be checked"
        case .several(let count):
            "the other side has shown \(count) certificates where one is expected; is it BeamRoom, without a proxy in between?"
        case .tooLong(let count):
            "the other side's certificate has \(count) bytes, more than the \(PeerCertificate.maxBytes) that are read"
        case .unreadable:
            "the other side's certificate can't be read; is it BeamRoom, without a proxy in between?"
        case .unsupportedKey:
            "the other side's certificate is for a kind of key that BeamRoom doesn't use; is it BeamRoom, and up to date?"
        case .signedByAnother:
            "the other side's certificate was issued by somebody else, but BeamRoom's certificates are self-signed"
        case .wrongSignature:
            "the other side's certificate isn't signed with its own key; somebody may be intercepting the connection"
        case .notYetValid:
            "the other side's certificate isn't valid yet; look at the clocks of both machines"
        case .expired:
            "the other side's certificate has expired; look at the clocks of both machines"
        }
    }
}
