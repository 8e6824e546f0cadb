import Testing

@testable import BeamTrust

@Suite struct ConsentStoreTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func aConsentServesOnce() throws {
        let store = scratch.store
        #expect(try store.takeConsent("wayland-0 any") == nil)
        try store.keepConsent("first", as: "wayland-0 any")
        try store.keepConsent("second", as: "wayland-0 any")
        try store.keepConsent("other", as: "wayland-1 any")
        #expect(mode(scratch.file("consents.json")) == 0o600)
        #expect(try store.takeConsent("wayland-0 any") == "second")
        #expect(try store.takeConsent("wayland-0 any") == nil)
        #expect(try store.takeConsent("wayland-1 any") == "other")
    }

    @Test func whatIsDamagedCountsAsNone() throws {
        try scratch.write("{", to: "consents.json")
        #expect(try scratch.store.takeConsent("a") == nil)
        try scratch.store.keepConsent("token", as: "a")
        #expect(try scratch.store.takeConsent("a") == "token")
        try scratch.write("{}", to: "consents.json", mode: 0o644)
        #expect(throws: TrustStoreError.self) { try scratch.store.takeConsent("a") }
    }

    @Test func theFileIsBounded() throws {
        for number in 0..<200 { try scratch.store.keepConsent("token", as: "\(number)") }
        #expect(try scratch.store.takeConsent("0") == nil)
        #expect(try scratch.store.takeConsent("199") == "token")
    }
}
