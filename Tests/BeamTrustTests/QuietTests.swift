import Testing

@testable import BeamTrust

struct QuietTests {
    @Test func `One program has the place, and the next one finds what is left`() throws {
        let scratch = try Scratch()
        let store = scratch.store
        var claim = try store.claimQuiet()
        #expect(claim != nil && claim?.read() == nil)
        #expect(claim?.keep("gnome") == true)
        #expect(mode(scratch.file("quiet")) == 0o600)
        #expect(try store.claimQuiet() == nil)
        claim = nil
        let next = try #require(try store.claimQuiet())
        #expect(next.read() == "gnome")
        #expect(next.keep(nil) && next.read() == nil)
    }
}
