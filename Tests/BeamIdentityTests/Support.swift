import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// Describes certificates that BeamRoom doesn't create itself.
struct Recipe {
    var publicKey: Certificate.PublicKey
    var signer: Certificate.PrivateKey
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256
    var issuer = "BeamRoom"
    var subject = "BeamRoom"
    var notBefore = Date(timeIntervalSince1970: 0)
    var notAfter = Date(timeIntervalSince1970: 253_402_300_799)
    var extensions = Certificate.Extensions()

    init(_ key: P256.Signing.PrivateKey) {
        publicKey = Certificate.PublicKey(key.publicKey)
        signer = Certificate.PrivateKey(key)
    }

    init(_ key: Certificate.PrivateKey, _ algorithm: Certificate.SignatureAlgorithm) {
        publicKey = key.publicKey
        signer = key
        self.algorithm = algorithm
    }

    func der() throws -> [UInt8] {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey, notValidBefore: notBefore,
            notValidAfter: notAfter, issuer: DistinguishedName { CommonName(issuer) },
            subject: DistinguishedName { CommonName(subject) }, signatureAlgorithm: algorithm, extensions: extensions,
            issuerPrivateKey: signer)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

/// SplitMix64, a seeded generator.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// `BEAMROOM_FUZZ_ITERATIONS` sets the number of iterations (default 100,000), `BEAMROOM_FUZZ_SEED` the first seed.
func fuzzSeeds(_ usual: Int) -> Range<UInt64> {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
    let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 100_000
    return first..<first + UInt64(max(1, wanted * usual / 100_000))
}

/// A damaged copy: bytes changed, removed, duplicated or inserted.
func damaged(_ bytes: [UInt8], using random: inout SplitMix) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) {
        guard !bytes.isEmpty else { return bytes }
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0...5, using: &random) {
        case 0: bytes[index] = .random(in: 0...255, using: &random)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(index..<min(bytes.count, index + .random(in: 1...8, using: &random)))
        case 3: bytes.insert(.random(in: 0...255, using: &random), at: index)
        case 4: bytes.removeLast(bytes.count - index)
        default:
            let slice = Array(bytes[index..<min(bytes.count, index + .random(in: 1...40, using: &random))])
            bytes.insert(contentsOf: slice, at: .random(in: 0...bytes.count, using: &random))
        }
    }
    return bytes
}
