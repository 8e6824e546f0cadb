import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct MeshStandingOrderTests {
    @Test func `A mark is the room's, and neither its ID nor a member's tag`() {
        let room = [UInt8](repeating: 7, count: 32)
        let day = MeshDay(20_000)
        let mark = MeshMark(of: room, on: day)
        #expect(mark == MeshMark(of: room, on: day))
        #expect(mark != MeshMark(of: [UInt8](repeating: 8, count: 32), on: day))
        #expect(mark.text != MeshTag(room: room, member: .made(1), on: day).text)
        #expect(MeshMark(announced: mark.text.uppercased()) == mark)
        for nonsense in ["", "12", mark.text + "0", String(repeating: "g", count: 16)] {
            #expect(MeshMark(announced: nonsense) == nil)
        }
    }

    @Test func `Exactly one of any rooms is above all others, whoever compares them`() {
        let marks = (0..<6).map { MeshMark(of: [UInt8](repeating: $0, count: 32), on: MeshDay(20_000)) }
        let standings = marks.enumerated().map { MeshStanding(members: $0.offset % 3 + 1, mark: $0.element) }
        for one in standings {
            for other in standings where one != other { #expect((one < other) != (other < one)) }
        }
        let best = standings.max()
        #expect(standings.reversed().max() == best)
        #expect(best?.members == 3)
        let equals = marks.map { MeshStanding(members: 1, mark: $0) }
        #expect(equals.max()?.mark == marks.min())
        // Numbers of a peer's choice.
        #expect(MeshStanding(members: .max, mark: marks[0]) > MeshStanding(members: .min, mark: marks[1]))
    }

    @Test(arguments: [
        ("stduy", "study"), ("study", "Studdy"), ("math", "maths"), ("mathematics", "matehmatisc"), ("raum", "traum"),
        ("übung", "Ubung"), ("lab", "labs"),
    ]) func `A slip of the keyboard is near`(one: String, other: String) {
        #expect(NearNames.areNear(one, other) && NearNames.areNear(other, one))
    }

    @Test(arguments: [
        ("study", "study"), ("Study", "study"), ("math", "music"), ("room 1", "room 2"), ("lab", "lab 2"), ("a", "b"),
        ("ab", "abc"), ("", ""), ("", "x"), ("study", "stdyu"),
    ]) func `Other names aren't`(one: String, other: String) {
        #expect(!NearNames.areNear(one, other) && !NearNames.areNear(other, one))
    }

    @Test func `Long names cost little`() {
        #expect(!NearNames.areNear(String(repeating: "a", count: 100_000), String(repeating: "b", count: 100_000)))
    }
}
