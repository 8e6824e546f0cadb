import BeamLog
import BeamMedia
import BeamNetwork
import BeamViewer
import Testing

@testable import BeamMeeting

struct MeetingNeighboursTests {
    /// The lower its number, the rather it stays.
    private static let marks = (0..<4).map { MeshMark(of: [UInt8](repeating: $0, count: 32), on: MeshDay(20_000)) }
        .sorted()

    private static func room(_ number: Int, _ name: String = "math", members: Int = 1) -> MeshPresence.Found {
        MeshPresence.Found(
            room: name, standing: MeshStanding(members: members, mark: marks[number]),
            doors: (0..<members).map { Endpoint(host: "192.0.2.\($0 + 1)", port: 52345) })
    }

    private let start = ContinuousClock.now
    private let own = MeshStanding(members: 1, mark: marks[2])

    private func neighbours(wasMade: Bool = true) -> MeetingNeighbours {
        let neighbours = MeetingNeighbours()
        neighbours.entered("math", wasMade: wasMade, now: start)
        return neighbours
    }

    /// The steps of so many seconds, one look each.
    private func steps(
        _ neighbours: MeetingNeighbours, _ seconds: ClosedRange<Int>, _ found: [MeshPresence.Found],
        own: MeshStanding? = nil
    ) -> [MeetingNeighbours.Step] {
        seconds.compactMap {
            neighbours.look(at: found, own: own ?? self.own, now: start + .seconds($0))
        }
    }

    @Test func `A room that was just made gives way to the best one, once that stays the same`() {
        let neighbours = neighbours()
        #expect(steps(neighbours, 0...1, [Self.room(1)]).isEmpty)
        #expect(steps(neighbours, 2...3, [Self.room(0), Self.room(1)]).isEmpty)
        #expect(steps(neighbours, 4...4, [Self.room(1), Self.room(0)]) == [.move(Self.room(0))])
    }

    @Test func `Whoever announces ever better rooms moves nobody for ever`() {
        let neighbours = MeetingNeighbours()
        for _ in 0..<MeetingNeighbours.mostMoves {
            neighbours.entered("math", wasMade: true, now: start)
            #expect(steps(neighbours, 0...2, [Self.room(0)]) == [.move(Self.room(0))])
            neighbours.left()
        }
        neighbours.entered("math", wasMade: true, now: start)
        #expect(steps(neighbours, 0...10, [Self.room(0)]) == [.offer(Self.room(0))])
    }

    @Test func `The room that stays does nothing, and offers another after a while only to a lone member`() {
        #expect(steps(neighbours(), 0...14, [Self.room(3)]).isEmpty)
        #expect(steps(neighbours(), 0...60, [Self.room(3)]) == [.offer(Self.room(3))])
        let several = MeshStanding(members: 2, mark: Self.marks[2])
        #expect(steps(neighbours(), 0...60, [Self.room(3)], own: several).isEmpty)
        #expect(steps(neighbours(), 0...60, [Self.room(0, "music", members: 5)]).isEmpty)
        let larger = MeshStanding(members: 2, mark: Self.marks[3])
        #expect(steps(neighbours(), 0...60, [Self.room(0)], own: larger).isEmpty)
    }

    @Test func `Before the own announcement is seen, nothing is decided`() {
        let neighbours = neighbours()
        for second in 0...30 {
            #expect(neighbours.look(at: [Self.room(0)], own: nil, now: start + .seconds(second)) == nil)
        }
    }

    @Test(arguments: ["used", "company", "remembered", "late"])
    func `A room in which something was is never left by itself`(what: String) {
        let neighbours = neighbours(wasMade: what != "remembered")
        if what == "used" { neighbours.noteUse() }
        if what == "company" { neighbours.noteCompany() }
        let first = what == "late" ? 20 : 0
        #expect(neighbours.isEmpty == (what == "late"))
        #expect(steps(neighbours, first...first + 60, [Self.room(0, members: 3)]) == [.offer(Self.room(0, members: 3))])
        #expect(neighbours.offered == Self.room(0, members: 3))
        // It is gone, and comes back.
        #expect(steps(neighbours, 100...110, []) == [.withdraw])
        #expect(neighbours.offered == nil)
        #expect(steps(neighbours, 111...120, [Self.room(0)]) == [.offer(Self.room(0))])
        // The person stays here.
        neighbours.avoid(Self.marks[0])
        #expect(neighbours.offered == nil && steps(neighbours, 121...200, [Self.room(0)]).isEmpty)
        #expect(neighbours.avoided == [Self.marks[0]])
        // What doesn't let this device in isn't entered from another room either.
        neighbours.left()
        #expect(neighbours.avoided == [Self.marks[0]])
    }

    @Test func `In a room that has proved nothing every other one of its name is offered, and soon`() {
        let neighbours = MeetingNeighbours()
        neighbours.entered("math", wasMade: false, isProved: false, now: start)
        let crowd = MeshStanding(members: 8, mark: Self.marks[2])
        #expect(steps(neighbours, 0...4, [Self.room(3, members: 2)], own: crowd).isEmpty)
        #expect(steps(neighbours, 5...60, [Self.room(3, members: 2)], own: crowd) == [.offer(Self.room(3, members: 2))])
        // Once the person has said that it is the right one, it is as any other.
        neighbours.noteProof()
        #expect(steps(neighbours, 61...70, [Self.room(3, members: 2)], own: crowd) == [.withdraw])
    }

    @Test func `A room of an earlier version is offered, not entered by itself`() {
        let old = MeshPresence.Found(room: "Math", standing: nil, doors: [Endpoint(host: "192.0.2.1", port: 1)])
        #expect(steps(neighbours(), 0...60, [old]) == [.offer(old)])
        // One that can be compared comes first.
        let neighbours = neighbours()
        #expect(steps(neighbours, 0...3, [old, Self.room(0)]) == [.move(Self.room(0)), .move(Self.room(0))])
    }

    @Test func `Names that are near are told once each`() {
        let found = [Self.room(0, "study"), Self.room(1, "Study"), Self.room(2, "music"), Self.room(3, "studi")]
        #expect(MeetingNeighbours.near("stduy", in: found) == ["study"])
        #expect(MeetingNeighbours.near("study", in: found) == ["studi"])
    }
}
