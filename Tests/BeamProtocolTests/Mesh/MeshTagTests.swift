import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct MeshTagTests {
    private let room = [UInt8](repeating: 7, count: 32)
    private let day = MeshDay(20_000)

    @Test func `A tag is the same for all who know the room, and says nothing of it`() {
        let tag = MeshTag(room: room, member: .made(1), on: day)
        #expect(tag == MeshTag(room: room, member: .made(1), on: day))
        #expect(tag != MeshTag(room: room, member: .made(2), on: day))
        #expect(tag != MeshTag(room: [UInt8](repeating: 8, count: 32), member: .made(1), on: day))
        #expect(tag.text.count == 16 && !DeviceKey.made(1).hex.contains(tag.text))
        #expect(MeshTag(announced: tag.text.uppercased()) == tag)
        for nonsense in ["", "12", tag.text + "0", String(repeating: "g", count: 16), "１２３４５６７８"] {
            #expect(MeshTag(announced: nonsense) == nil)
        }
    }

    /// By hand: HMAC-SHA-256 under 32 bytes of 7 of the label, 0x00004E20, and the key's bytes.
    @Test func `Tag and mark have the documented form`() {
        #expect(MeshTag(room: room, member: .made(1), on: day).text == "c23d1d28f756edc4")
        #expect(MeshMark(of: room, on: day).text == "66fdac5752f8a5ca")
    }

    @Test func `Each day has a tag and a mark of its own`() {
        let days = (0..<500).map { MeshDay(20_000 + $0) }
        #expect(Set(days.map { MeshTag(room: room, member: .made(1), on: $0) }).count == days.count)
        #expect(Set(days.map { MeshMark(of: room, on: $0) }).count == days.count)
    }

    @Test func `A day is one of UTC, whatever the clock says`() {
        #expect(MeshDay(secondsSince1970: 86_400 * 20_000).number == 20_000)
        #expect(MeshDay(secondsSince1970: 86_400 * 20_000 - 0.5).number == 19_999)
        for impossible in [-1, -Double.infinity, .nan] {
            #expect(MeshDay(secondsSince1970: impossible).number == 0)
        }
        for far in [1e300, Double.infinity] { #expect(MeshDay(secondsSince1970: far).number == .max) }
        #expect(MeshDay(0).advanced(by: -2) == MeshDay(0))
        #expect(MeshDay(.max).advanced(by: 2) == MeshDay(.max))
    }
}

struct MeshAnnouncementsTests {
    private let room = [UInt8](repeating: 7, count: 32)

    private func announcements(of own: UInt8, on day: UInt32) -> MeshAnnouncements {
        MeshAnnouncements(room: room, own: .made(own), members: [1, 2, 3].map { DeviceKey.made($0) }, on: MeshDay(day))
    }

    @Test func `A member is recognised two days before and after, and no longer`() {
        let anna = announcements(of: 1, on: 100)
        for day in UInt32(98)...102 {
            #expect(anna.member(MeshTag(room: room, member: .made(2), on: MeshDay(day))) == .made(2))
            #expect(anna.isMark(MeshMark(of: room, on: MeshDay(day))))
            #expect(MeshAnnouncements.isMark(MeshMark(of: room, on: MeshDay(day)), of: room, about: MeshDay(100)))
        }
        for day in [UInt32(97), 103] {
            #expect(anna.member(MeshTag(room: room, member: .made(2), on: MeshDay(day))) == nil)
            #expect(!anna.isMark(MeshMark(of: room, on: MeshDay(day))))
        }
        #expect(anna.member(MeshTag(room: room, member: .made(9), on: MeshDay(100))) == nil)
        #expect(anna.isOwn(anna.tag) && !anna.isOwn(announcements(of: 2, on: 100).tag))
    }

    @Test func `Another day is announced once it has come`() {
        var anna = announcements(of: 1, on: 100)
        let (tag, mark) = (anna.tag, anna.mark)
        let before = anna.update(on: MeshDay(100), seen: [mark])
        #expect(!before)
        let next = anna.update(on: MeshDay(101), seen: [mark])
        #expect(next && anna.tag != tag && anna.mark != mark)
        // What was announced until now is known still.
        #expect(anna.isOwn(tag) && anna.isMark(mark))
        let again = anna.update(on: MeshDay(101), seen: [mark, anna.mark])
        #expect(!again)
    }

    /// However the clocks differ by less than a day, all announce the same mark within a round.
    @Test func `Members whose clocks differ have one mark`() {
        for clocks in [[100, 101, 100], [100, 100, 101], [101, 101, 100]] as [[UInt32]] {
            var all = zip([1, 2, 3] as [UInt8], clocks).map { announcements(of: $0, on: $1) }
            for _ in 0..<2 {
                let seen = all.map(\.mark)
                for index in all.indices { _ = all[index].update(on: MeshDay(clocks[index]), seen: seen) }
            }
            #expect(Set(all.map(\.mark)).count == 1)
        }
    }

    @Test func `Nobody is drawn further than a day ahead of the own clock`() {
        var anna = announcements(of: 1, on: 100)
        let marks = (UInt32(95)...110).map { MeshMark(of: room, on: MeshDay($0)) }
        _ = anna.update(on: MeshDay(100), seen: marks)
        #expect(anna.day == MeshDay(101))
        _ = anna.update(on: MeshDay(100), seen: [])
        #expect(anna.day == MeshDay(100), "whoever was ahead has gone")
        // A clock that is set back takes the announcement with it.
        _ = anna.update(on: MeshDay(50), seen: marks)
        #expect(anna.day == MeshDay(50))
    }
}
