import BeamProtocol
import Crypto

extension DeviceKey {
    /// The device key of a public key: SHA-256 of its canonical encoding (DER, uncompressed point), so that other
    /// encodings of the same key give the same device.
    public init(_ publicKey: P256.Signing.PublicKey) {
        guard let key = DeviceKey(Array(SHA256.hash(data: publicKey.derRepresentation))) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        self = key
    }

    /// From a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) in DER; nil unless it is a P-256 key.
    public init?(subjectPublicKeyInfo: [UInt8]) {
        guard let key = try? P256.Signing.PublicKey(derRepresentation: subjectPublicKeyInfo) else { return nil }
        self.init(key)
    }
}
