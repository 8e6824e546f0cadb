import BeamWire
import Crypto
import CryptoExtras
import Foundation
import Testing
import X509

@testable import BeamIdentity

struct PeerCertificateTests {
    private let key = P256.Signing.PrivateKey()

    private func reason(_ chain: [[UInt8]], now: Date = Date()) -> PeerCertificateError? {
        do throws(PeerCertificateError) {
            _ = try PeerCertificate.check(chain, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test func `A valid self-signed certificate is accepted`() throws {
        #expect(try PeerCertificate.check([Recipe(key).der()]) == DeviceKey(key.publicKey))
    }

    @Test func `No certificate and several certificates are refused`() throws {
        let good = try Recipe(key).der()
        #expect(reason([]) == .missing)
        #expect(reason([good, good]) == .several(2))
        #expect(reason([good] + Array(repeating: [], count: 9)) == .several(10))
    }

    @Test func `Unreadable certificates are refused`() throws {
        let good = try Recipe(key).der()
        #expect(reason([[]]) == .unreadable)
        #expect(reason([Array("BeamRoom".utf8)]) == .unreadable)
        #expect(reason([Array(good.dropLast())]) == .unreadable)
        #expect(reason([good + [0]]) == .unreadable)
    }

    @Test func `Oversized certificates are refused`() throws {
        var recipe = Recipe(key)
        recipe.issuer = String(repeating: "x", count: PeerCertificate.maxBytes / 2)
        recipe.subject = recipe.issuer
        let long = try recipe.der()
        #expect(reason([long]) == .tooLong(long.count))
        recipe.issuer = String(repeating: "x", count: PeerCertificate.maxBytes / 2 - 300)
        recipe.subject = recipe.issuer
        #expect(try reason([recipe.der()]) == nil)
    }

    @Test func `Other kinds of keys are refused`() throws {
        let rsa = try Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits2048))
        let ed25519 = Certificate.PrivateKey(Curve25519.Signing.PrivateKey())
        let p384 = Certificate.PrivateKey(P384.Signing.PrivateKey())
        #expect(try reason([Recipe(rsa, .sha256WithRSAEncryption).der()]) == .unsupportedKey)
        #expect(try reason([Recipe(ed25519, .ed25519).der()]) == .unsupportedKey)
        #expect(try reason([Recipe(p384, .ecdsaWithSHA384).der()]) == .unsupportedKey)
    }

    @Test func `A certificate signed by another key is refused`() throws {
        let trusted = P256.Signing.PrivateKey()
        var recipe = Recipe(key)
        recipe.signer = Certificate.PrivateKey(trusted)
        recipe.issuer = "A device that is trusted"
        #expect(try reason([recipe.der()]) == .signedByAnother)
        // Also refused if the issuer has the same name.
        recipe.issuer = recipe.subject
        #expect(try reason([recipe.der()]) == .wrongSignature)
        #expect(try reason([recipe.der(), Recipe(trusted).der()]) == .several(2))
    }

    @Test func `Another device's public key under the peer's own signature is refused`() throws {
        var recipe = Recipe(key)
        recipe.publicKey = Certificate.PublicKey(P256.Signing.PrivateKey().publicKey)
        #expect(try reason([recipe.der()]) == .wrongSignature)
    }

    @Test func `A change of any bit of the signature is detected`() throws {
        let good = try Recipe(key).der()
        // The last bytes are the signature's integer s.
        for index in good.count - 20..<good.count {
            var bytes = good
            bytes[index] ^= 1
            #expect(reason([bytes]) == .wrongSignature)
        }
    }

    @Test func `Certificates outside their validity are refused`() throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        var recipe = Recipe(key)
        recipe.notBefore = now
        recipe.notAfter = now + 60
        let der = try recipe.der()
        #expect(reason([der], now: now - 1) == .notYetValid)
        #expect(reason([der], now: now) == nil)
        #expect(reason([der], now: now + 60) == nil)
        #expect(reason([der], now: now + 61) == .expired)
    }

    @Test func `Each reason is part of a sentence`() {
        let all: [PeerCertificateError] = [
            .missing, .several(3), .tooLong(20_000), .unreadable, .unsupportedKey, .signedByAnother, .wrongSignature,
            .notYetValid, .expired,
        ]
        #expect(Set(all.map(\.description)).count == all.count)
        for error in all {
            #expect(error.description.hasPrefix("the other side"))
            #expect(error.description.last != ".")
        }
    }

    /// Fuzz body: a modified certificate is refused, or still has the content that its key signed.
    @Test func `Fuzz: certificates`() throws {
        let good = try Recipe(key).der()
        for seed in fuzzSeeds(2000) {
            var random = SplitMix(state: seed)
            let bytes = damaged(good, using: &random)
            if let accepted = try? PeerCertificate.check([bytes]) {
                #expect(accepted == DeviceKey(key.publicKey), "seed \(seed)")
            }
        }
    }

    /// Fuzz body: random bytes with a DER-like start.
    @Test func `Fuzz: made-up DER`() {
        for seed in fuzzSeeds(1000) {
            var random = SplitMix(state: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...60, using: &random) {
                bytes.append(
                    ([0x30, 0x31, 0x02, 0x03, 0x06, 0x17, 0x18, 0xA0, 0xA3] as [UInt8]).randomElement(using: &random)
                        ?? 0)
                let length =
                    ([0x00, 0x01, 0x20, 0x7F, 0x80, 0x81, 0x82, 0x84, 0xFF] as [UInt8]).randomElement(using: &random)
                    ?? 0
                bytes.append(length)
                for _ in 0..<Int.random(in: 0...9, using: &random) {
                    bytes.append(.random(in: 0...255, using: &random))
                }
            }
            #expect(throws: PeerCertificateError.self, "seed \(seed)") { try PeerCertificate.check([bytes]) }
        }
    }
}
