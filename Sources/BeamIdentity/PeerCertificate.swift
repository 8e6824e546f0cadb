import BeamProtocol
import Crypto
import Foundation
import X509

/// Looks at what the other side of a TLS connection presents. Nothing else decides about certificates: there is no
/// authority, no chain and no name.
public enum PeerCertificate {
    /// Of a certificate, in bytes of DER. BeamRoom's own take some 300.
    public static let longest = 16 << 10

    /// The key that is to be proven: of the one certificate, if it is for a P-256 key, signed by that key and valid now.
    ///
    /// That the other side has the private key is TLS's to prove. Extensions aren't looked at: they would limit what an
    /// authority's word is worth, and here there is none.
    ///
    /// - Parameter chain: what was presented, in DER, the other side's own certificate first.
    public static func check(_ chain: [[UInt8]], now: Date = Date()) throws(PeerCertificateError) -> DeviceKey {
        guard let bytes = chain.first else { throw .missing }
        guard chain.count == 1 else { throw .several(chain.count) }
        guard bytes.count <= longest else { throw .tooLong(bytes.count) }
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

/// What is wrong with what the other side presents.
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

    /// A part of a sentence: it follows "no connection:" or the like.
    public var description: String {
        switch self {
        case .missing:
            "the other side has shown no certificate, so there is no telling who it is"
        case .several(let count):
            "the other side has shown \(count) certificates where one is expected; is it BeamRoom, with nothing in between?"
        case .tooLong(let count):
            "the other side's certificate has \(count) bytes, more than the \(PeerCertificate.longest) that are read"
        case .unreadable:
            "the other side's certificate can't be read; is it BeamRoom, with nothing in between?"
        case .unsupportedKey:
            "the other side's certificate is for a kind of key that BeamRoom doesn't use; is it BeamRoom, and up to date?"
        case .signedByAnother:
            "the other side's certificate is issued by somebody else, but BeamRoom trusts keys, not who vouches for them"
        case .wrongSignature:
            "the other side's certificate isn't signed by its own key; somebody may have changed it on the way"
        case .notYetValid:
            "the other side's certificate isn't valid yet; look at the clocks of both machines"
        case .expired:
            "the other side's certificate has expired; look at the clocks of both machines"
        }
    }
}
