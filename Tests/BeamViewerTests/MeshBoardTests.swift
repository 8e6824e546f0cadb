import BeamLog
import BeamSession
import BeamWire
import Testing

@testable import BeamViewer

/// What a room's window asks.
struct MeshBoardTests {
    /// A browser's door isn't the room's: it still waits for an answer when the room is left for another one.
    @Test func aBrowserIsAskedAboutInTheNextRoomsWindow() throws {
        let board = MeshBoard(own: try #require(DeviceKey([UInt8](repeating: 1, count: 32))))
        let browser = ConnectionID(ConnectionID.firstOfBrowsers)
        board.ask(ConnectionID(1), from: Visitor(address: .v4(1), name: "sofa"))
        board.ask(browser, from: Visitor(address: .v4(2), name: "Firefox"))
        let before = try #require(board.read(\.ask))
        #expect(before.text.contains("sofa"))
        board.reset()
        let asked = try #require(board.read(\.ask))
        #expect(asked.text.contains("Firefox") && asked.id != before.id)
        #expect(board.read { $0.connection(asked: asked.id) } == browser)
        board.settle(browser, isAgreed: true)
        #expect(board.read(\.ask) == nil)
    }
}
