import BeamIdentity
import BeamWire
import Testing
import X509

struct WebIdentityTests {
    @Test func theCertificateIsForTheNamesAndAddresses() throws {
        let identity = try WebIdentity(
            names: ["desk", "desk.local", "no name", "", "bücher"],
            addresses: [.v4(0xC000_0207), .v6(high: 0x2001_0db8_0000_0000, low: 7, scope: 0)])
        #expect(identity.names == ["desk", "desk.local"])
        let certificate = try Certificate(derEncoded: identity.certificate)
        let names = try #require(try certificate.extensions.subjectAlternativeNames)
        let addresses = names.compactMap { name -> [UInt8]? in
            if case .ipAddress(let bytes) = name { Array(bytes.bytes) } else { nil }
        }
        #expect(addresses == [[192, 0, 2, 7], [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [7]])
        #expect(certificate.issuer == certificate.subject)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
    }

    @Test func itIsTheSameToTheByteWhenReadAgain() throws {
        let identity = try WebIdentity(names: ["desk"], addresses: [])
        let again = try WebIdentity(pem: identity.pem)
        #expect(again.certificate == identity.certificate && again.privateKeyDER == identity.privateKeyDER)
        #expect(!"\(identity)".contains("PRIVATE") && !String(reflecting: identity).contains("PRIVATE"))
    }

    @Test func whatDoesNotBelongTogetherIsRefused() throws {
        let (one, other) = (try WebIdentity(names: ["a"], addresses: []), try WebIdentity(names: ["b"], addresses: []))
        let mark = "-----BEGIN CERTIFICATE-----"
        let key = try #require(one.pem.firstRange(of: mark)).lowerBound
        let certificate = try #require(other.pem.firstRange(of: mark)).lowerBound
        let texts = [
            "", "nothing", String(one.pem[..<key]), String(one.pem[key...]),
            String(one.pem[..<key]) + String(other.pem[certificate...]),
        ]
        for text in texts { #expect(throws: LocalIdentityError.unreadableKey) { try WebIdentity(pem: text) } }
        #expect(WebIdentity.names(inCertificate: [1, 2, 3]) == [])
    }
}
