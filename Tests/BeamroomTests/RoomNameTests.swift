import BeamNetwork
import BeamViewer
import Testing

@testable import beamroom

struct RoomNameTests {
    private func room(_ name: String) -> MeshPresence.Found {
        MeshPresence.Found(room: name, standing: nil, doors: [Endpoint(host: "192.0.2.1", port: 52345)])
    }

    /// A room's name that was typed for a host's.
    @Test func aRoomIsFoundByTheNameOfAHost() {
        let found = [room("study"), room("Math")]
        #expect(RoomNameWatch.room(called: "math", in: found) == "Math")
        #expect(RoomNameWatch.room(called: "mat", in: found) == nil)
        #expect(
            RoomNameWatch.words("Math's")
                == "“Math's” is a room, which isn't watched: `beamroom room 'Math'\\''s'` enters it.")
    }
}
