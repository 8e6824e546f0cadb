import BeamWire
import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import BeamIdentity

struct LocalIdentityTests {
    @Test func `The certificate passes the check and yields the key`() throws {
        let identity = try LocalIdentity()
        #expect(try PeerCertificate.check([identity.certificate]) == identity.deviceKey)
        #expect(identity.certificate.count < 400)
    }

    @Test func `The key is the SHA-256 of the public key's SubjectPublicKeyInfo`() throws {
        let key = P256.Signing.PrivateKey()
        let identity = try LocalIdentity(key)
        // RFC 5480: SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { 04, x, y } }
        let header: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let info = header + key.publicKey.x963Representation
        #expect(identity.deviceKey.bytes == Array(SHA256.hash(data: info)))
        #expect(DeviceKey(subjectPublicKeyInfo: info) == identity.deviceKey)
        #expect(DeviceKey(subjectPublicKeyInfo: Array(info.dropLast())) == nil)
    }

    @Test func `A restart changes the certificate, not the key`() throws {
        let first = try LocalIdentity()
        let second = try LocalIdentity(privateKeyPEM: first.privateKeyPEM)
        #expect(second.deviceKey == first.deviceKey)
        #expect(second.certificate != first.certificate)
        #expect(second.privateKeyDER == first.privateKeyDER)
        #expect(try LocalIdentity().deviceKey != first.deviceKey)
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
    func `Invalid keys are refused`(text: String) {
        #expect(throws: LocalIdentityError.unreadableKey) { try LocalIdentity(privateKeyPEM: text) }
    }

    @Test func `A key for another curve is refused`() {
        let pem = P384.Signing.PrivateKey().pemRepresentation
        #expect(throws: LocalIdentityError.unreadableKey) { try LocalIdentity(privateKeyPEM: pem) }
    }

    @Test func `The certificate reveals nothing about the machine or its owner`() throws {
        let certificate = try Certificate(derEncoded: LocalIdentity().certificate)
        #expect(certificate.subject.description == "CN=BeamRoom")
        #expect(certificate.issuer == certificate.subject)
        #expect(certificate.extensions.isEmpty)
    }

    @Test func `The certificate is valid at any time`() throws {
        let identity = try LocalIdentity()
        for seconds in [0, 1_000_000_000, 4_102_444_800, 253_402_300_799] as [TimeInterval] {
            let key = try PeerCertificate.check([identity.certificate], now: Date(timeIntervalSince1970: seconds))
            #expect(key == identity.deviceKey)
        }
        let certificate = String(decoding: identity.certificate, as: UTF8.self)
        #expect(certificate.contains("700101000000Z"))
        #expect(certificate.contains("99991231235959Z"))
    }

    @Test func `The secret is in no description`() throws {
        let identity = try LocalIdentity()
        var dumped = ""
        dump(identity, to: &dumped)
        let texts = ["\(identity)", String(reflecting: identity), String(describing: Optional(identity)), dumped]
        let scalar = try P256.Signing.PrivateKey(pemRepresentation: identity.privateKeyPEM).rawRepresentation
        let first = scalar.prefix(4)
        let forms = [
            first.map { String(format: "%02x", $0) }.joined(), first.map { String($0) }.joined(separator: ", "),
            Data(identity.privateKeyDER).base64EncodedString().suffix(40).description, "PRIVATE KEY", "PrivateKey",
        ]
        for text in texts {
            for form in forms { #expect(!text.contains(form)) }
        }
        #expect("\(identity)" == "identity \(identity.deviceKey)")
    }
}
