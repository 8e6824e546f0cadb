import BeamIdentity
import BeamWire
import Foundation
import Testing

@testable import BeamTrust

struct WebStoreTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func identity(_ names: [String] = ["Desk", "desk.local"]) throws -> WebIdentity {
        try scratch.store.webIdentity(names: names.map { $0.lowercased() }, addresses: [.v4(0x7F00_0001)])
    }

    @Test func `The certificate for browsers is made on first use and kept, for the user alone`() throws {
        let first = try identity()
        #expect(first.names == ["desk", "desk.local"])
        #expect(try identity().certificate == first.certificate)
        #expect(mode(scratch.file("web.pem")) == 0o600)
        // It has nothing to do with the key that devices know.
        #expect(try scratch.store.identity().certificate != first.certificate)
    }

    @Test func `A machine with another name gets another certificate`() throws {
        let first = try identity()
        #expect(try identity(["other"]).names == ["other"])
        #expect(try identity().certificate != first.certificate)
    }

    @Test(arguments: ["", "nonsense", String(repeating: "A", count: 20_000)])
    func `A damaged file is replaced`(_ text: String) throws {
        try scratch.write(text, to: "web.pem")
        let made = try identity()
        #expect(try identity().certificate == made.certificate)
    }

    @Test func `A file that others can read is an error`() throws {
        try scratch.write("", to: "web.pem", mode: 0o644)
        #expect(throws: TrustStoreError.self) { try identity() }
    }
}
