import Testing

@testable import BeamProtocol

struct RoomTagTests {
    @Test func `A tag is the same for all who know the room, and says nothing of it`() {
        let room = [UInt8](repeating: 7, count: 16)
        let tag = RoomTag(room: room, member: .made(1))
        #expect(tag == RoomTag(room: room, member: .made(1)))
        #expect(tag != RoomTag(room: room, member: .made(2)))
        #expect(tag != RoomTag(room: [UInt8](repeating: 8, count: 16), member: .made(1)))
        #expect(tag.text.count == 16 && !DeviceKey.made(1).hex.contains(tag.text))
        #expect(RoomTag(announced: tag.text.uppercased()) == tag)
        for nonsense in ["", "12", tag.text + "0", String(repeating: "g", count: 16), "１２３４５６７８"] {
            #expect(RoomTag(announced: nonsense) == nil)
        }
    }
}
