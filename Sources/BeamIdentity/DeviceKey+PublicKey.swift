import BeamWire
import Crypto

extension DeviceKey {
    /// From a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) in DER; nil unless it is a P-256 key.
    public init?(subjectPublicKeyInfo: [UInt8]) {
        guard let key = try? P256.Signing.PublicKey(derRepresentation: subjectPublicKeyInfo) else { return nil }
        self.init(key)
    }
}
