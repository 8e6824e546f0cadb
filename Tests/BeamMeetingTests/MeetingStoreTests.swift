import BeamLog
import BeamTrust
import Foundation
import Testing

@testable import BeamMeeting
@testable import BeamTerminal

/// What becomes of a room on the disk.
struct MeetingStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "meeting-\(UUID())").path
    private let context = CommandContext(json: false, console: Console(-1))

    private func room(_ number: UInt8) -> KeptRoom {
        KeptRoom(
            id: [UInt8](repeating: number, count: 32), name: "study", statements: [[1, 2, 3]], age: .seconds(60))
    }

    private var kept: [String] { get throws { try TrustStore(path: folder).rooms().map(\.room.name) } }

    @Test func aRoomIsClaimedByOneProgram() {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (one, other) = (
            MeetingStore(context, TrustStore(path: folder)), MeetingStore(context, TrustStore(path: folder))
        )
        #expect(one.claim(room(1)) == nil && one.claim(room(1)) == nil, "its own is no other's")
        #expect(
            other.claim(room(1)) == "Another beamroom on this machine is in the room “study” already.")
        #expect(other.claim(room(2)) == nil)
        one.reset()
        other.reset()
        #expect(other.claim(room(1)) == nil, "the claim ends with the stay")
    }

    @Test func whatWaitsIsStoredAtTheEndUnlessItIsForgotten() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = MeetingStore(context, TrustStore(path: folder))
        store.keep(room(1))
        store.write { true }
        store.finish()
        #expect(try kept == ["study"])
        var renamed = room(1)
        renamed.name = "library"
        store.keep(renamed)
        store.write { true }
        store.finish()
        #expect(try kept == ["study"], "a moment ago it was stored")
        store.write(isEnd: true) { true }
        store.finish()
        #expect(try kept == ["library"])
        store.keep(room(1))
        store.forget()
        store.write(isEnd: true) { true }
        store.finish()
        #expect(try kept == [])
    }
}
