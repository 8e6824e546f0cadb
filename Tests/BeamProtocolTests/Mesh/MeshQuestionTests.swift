import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A newcomer who asks at one door: everybody in the room is asked, and the first answer counts.
struct MeshQuestionTests {
    private static let visitor = Visitor(address: .v4(0xC000_0207), name: "dora")

    /// A room in which a newcomer has asked at the door of member 1 (the second).
    private static func asked(_ count: Int = 4, seed: UInt64 = 1) throws -> MeshSimulation {
        var simulation = MeshSimulation(seed: seed)
        try simulation.makeRoom(count)
        simulation.act(1) { $0.questionAsked(5, visitor, now: $1) }
        simulation.run(for: .seconds(1))
        return simulation
    }

    /// The number of the question at another member.
    private static func number(_ simulation: MeshSimulation, at place: Int) throws -> UInt64 {
        let numbers = simulation.members[place].questions.compactMap { question -> UInt64? in
            if case .asked(let number, visitor) = question { number } else { nil }
        }
        try #require(numbers.count == 1, "\(simulation.members[place].questions)")
        return numbers[0]
    }

    @Test func aDoorSendsANewcomerAwayBeforeOthersForgetIt() {
        #expect(MeshLimits.longestQuestion > HostLimits.comparisonTimeout)
    }

    @Test func theFirstAnswerCountsAndSeesTheDigits() throws {
        var simulation = try Self.asked()
        let first = try Self.number(simulation, at: 2)
        let second = try Self.number(simulation, at: 0)
        #expect(MeshQuestion.isElsewhere(first) && simulation.members[1].questions.isEmpty)
        simulation.act(2) { $0.answerElsewhere(first, accept: true, now: $1) }
        simulation.run(for: .seconds(1))
        #expect(simulation.members[1].questions == [.taken(5, by: "member 3"), .decided(5, accept: true)])
        for place in [0, 3] {
            let number = try Self.number(simulation, at: place)
            #expect(simulation.members[place].questions.last == .taken(number, by: "member 3"))
        }
        // Later answers don't count, at other members and at the door.
        simulation.act(0) { $0.answerElsewhere(second, accept: false, now: $1) }
        let counts = simulation.act(1) { $0.questionAnswered(5, accept: false, now: $1) }
        #expect(!counts)
        simulation.run(for: .seconds(1))
        #expect(simulation.members[1].questions.count == 2)
        // The digits go to who has agreed, and to nobody else.
        let digits = PairingCode("111222")!
        let isHere = simulation.act(1) { $0.digitsShown(5, digits, now: $1) }
        #expect(!isHere)
        simulation.run(for: .seconds(1))
        for place in 0..<4 {
            let shown = simulation.members[place].questions.contains(.digits(first, digits, Self.visitor))
            #expect(shown == (place == 2))
        }
        simulation.act(2) { $0.answerElsewhere(first, accept: true, now: $1) }
        simulation.run(for: .seconds(1))
        #expect(simulation.members[1].questions.last == .decided(5, accept: true))
        #expect(simulation.members.allSatisfy { $0.mesh.questions.own.isEmpty && $0.mesh.questions.others.isEmpty })
    }

    @Test func theDoorsOwnAnswerEndsTheOthersQuestion() throws {
        var simulation = try Self.asked()
        let counts = simulation.act(1) { $0.questionAnswered(5, accept: true, now: $1) }
        #expect(counts)
        simulation.run(for: .seconds(1))
        for place in [0, 2, 3] {
            let number = try Self.number(simulation, at: place)
            #expect(simulation.members[place].questions.last == .taken(number, by: "member 2"))
        }
        let isHere = simulation.act(1) { $0.digitsShown(5, PairingCode("111222")!, now: $1) }
        #expect(isHere)
    }

    @Test func aQuestionEndsWithItsNewcomerItsDoorAndWhoWasToCompare() throws {
        var simulation = try Self.asked()
        simulation.act(1) { $0.questionEnded(5, now: $1) }
        simulation.run(for: .seconds(1))
        #expect(simulation.members[0].questions.last == .withdrawn(try Self.number(simulation, at: 0)))

        var other = try Self.asked()
        let number = try Self.number(other, at: 3)
        other.act(3) { $0.answerElsewhere(number, accept: true, now: $1) }
        other.run(for: .seconds(1))
        other.kill(3)
        other.run(for: .seconds(10))
        #expect(other.members[1].questions.last == .decided(5, accept: false), "nobody compares any more")

        var third = try Self.asked()
        third.kill(1)
        third.run(for: .seconds(10))
        #expect(third.members[0].questions.last == .withdrawn(try Self.number(third, at: 0)))
    }

    /// A door whose own person isn't asked offers a question as long as somebody else can be.
    @Test func aDoorKnowsWhetherSomebodyElseCanBeAsked() throws {
        var simulation = MeshSimulation(seed: 3)
        simulation.asking = [2]
        try simulation.makeRoom(3)
        simulation.run(for: .seconds(1))
        let asks = { (simulation: MeshSimulation) in simulation.members.map(\.mesh.asksElsewhere) }
        #expect(asks(simulation) == [true, false, true], "member 2's own person is nobody else")
        simulation.kill(1)
        simulation.run(for: .seconds(10))
        #expect(!simulation.members[0].mesh.asksElsewhere && !simulation.members[2].mesh.asksElsewhere)
    }

    /// A member asks without end: eight at once, and then one a second as others end.
    @Test func aMemberCannotFloodOthersWithQuestions() throws {
        var simulation = try Self.asked(3)
        for number in 100..<150 { simulation.act(1) { $0.questionAsked(UInt64(number), Self.visitor, now: $1) } }
        simulation.run(for: .seconds(2))
        let asked = simulation.members[0].questions.count { if case .asked = $0 { true } else { false } }
        #expect(asked == 8)
    }
}
