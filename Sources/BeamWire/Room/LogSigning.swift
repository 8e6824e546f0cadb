import BeamMedia
import Crypto

/// Signs what this device writes to a room, and checks what others have written.
///
/// ECDSA on P-256 with SHA-256 (FIPS 186-5) with the device's identity key, so that an entry can be passed on by somebody
/// else and still be proved to come from its author.
public struct LogSigning: Sendable {
    /// The lengths of a public key (SEC 1, 2.3.3: an uncompressed point) and of a signature (r and s), in bytes.
    static let keyLength = 65
    static let signatureLength = 64

    /// This device's public key.
    public var publicKey: [UInt8]
    public var sign: @Sendable (_ bytes: [UInt8]) -> [UInt8]
    public var verify: @Sendable (_ signature: [UInt8], _ bytes: [UInt8], _ publicKey: [UInt8]) -> Bool
    /// The device key of a public key; nil if it is none.
    public var device: @Sendable (_ publicKey: [UInt8]) -> DeviceKey?

    /// With other functions, for simulations that can't spend the time.
    package init(
        publicKey: [UInt8], sign: @escaping @Sendable ([UInt8]) -> [UInt8],
        verify: @escaping @Sendable ([UInt8], [UInt8], [UInt8]) -> Bool,
        device: @escaping @Sendable ([UInt8]) -> DeviceKey?
    ) {
        self.publicKey = publicKey
        self.sign = sign
        self.verify = verify
        self.device = device
    }

    public init(_ key: P256.Signing.PrivateKey) {
        publicKey = Array(key.publicKey.x963Representation)
        sign = { bytes in
            guard let signature = try? key.signature(for: bytes) else {
                preconditionFailure("a valid P-256 key signs everything")
            }
            return Array(signature.rawRepresentation)
        }
        verify = { signature, bytes, publicKey in
            guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: bytes)
        }
        device = { publicKey in
            (try? P256.Signing.PublicKey(x963Representation: publicKey)).map { DeviceKey($0) }
        }
    }
}

extension DeviceKey {
    /// The device key of a public key: SHA-256 of its canonical encoding (DER, uncompressed point), so that other
    /// encodings of the same key give the same device.
    public init(_ publicKey: P256.Signing.PublicKey) {
        guard let key = DeviceKey(Array(SHA256.hash(data: publicKey.derRepresentation))) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        self = key
    }
}

/// Something that a member has signed, as it is sent: its public key, the signature, a u16 with the number of the following
/// bytes, those.
enum SignedFields {
    static func bytes(publicKey: [UInt8], signature: [UInt8], fields: [UInt8]) -> [UInt8] {
        var bytes = publicKey + signature
        bytes.append(bigEndian: UInt16(clamping: fields.count))
        return bytes + fields
    }

    /// Nil if the bytes aren't such. The signature isn't checked.
    static func read(
        _ reader: inout BigEndianReader
    ) -> (publicKey: [UInt8], signature: [UInt8], fields: BigEndianReader)? {
        guard let key = reader.bytes(LogSigning.keyLength), let signature = reader.bytes(LogSigning.signatureLength),
            let fields = reader.counted(by: UInt16.self)
        else { return nil }
        return (Array(key), Array(signature), BigEndianReader(fields))
    }
}
