import BeamNetwork
import Testing

@testable import BeamMeeting

/// At which doors a code is tried, and in what order.
struct CodeRoundTests {
    private static func door(_ number: UInt16) -> Endpoint { Endpoint(host: "192.0.2.1", port: number) }

    private static func doors(_ numbers: ClosedRange<UInt16>) -> [Endpoint] { numbers.map { door($0) } }

    /// All that are tried if each answers this.
    private func ports(_ round: inout CodeRound, answering answer: (UInt16) -> CodeRound.Answer) -> [UInt16] {
        var ports: [UInt16] = []
        while let next = round.next(), ports.count < 1000 {
            ports.append(next.door.port)
            round.note(answer(next.door.port))
        }
        return ports
    }

    @Test func `Each door is tried once, and a room with many doors keeps no other waiting`() {
        var round = CodeRound()
        round.add(Self.doors(1...4), of: "evil")
        round.add(Self.doors(11...12), of: "real")
        let first = ports(&round) { _ in .unproved }
        #expect(first == [1, 11, 2, 12, 3, 4])
        #expect(round.tried == 6 && !round.wasWrong)
        // What was announced meanwhile, and nothing twice.
        round.add(Self.doors(10...13), of: "real")
        let then = ports(&round) { _ in .notReached }
        #expect(then == [10, 13])
    }

    @Test func `A code that is wrong costs a room a few tries, whatever its size, and another room none`() {
        var round = CodeRound()
        round.add(Self.doors(1...8), of: "real")
        round.add(Self.doors(11...12), of: "other")
        let tried = ports(&round) { $0 < 10 ? .wrong : .unproved }
        #expect(tried == [1, 11, 2, 12, 3])
        #expect(tried.count { $0 < 10 } == CodeRound.mostWrong && round.wasWrong)
    }

    /// A false member has announced itself with the mark of the right room, which is public.
    @Test func `A peer that only pretends to be of the right room doesn't hide it`() {
        var round = CodeRound()
        round.add(Self.doors(1...5), of: "real")
        let tried = ports(&round) { $0 < 5 ? .unproved : .wrong }
        #expect(tried == [1, 2, 3, 4, 5])
    }

    @Test func `A busy door gets another turn after the others, and no third one`() {
        var round = CodeRound()
        round.add(Self.doors(1...3), of: "real")
        let tried = ports(&round) { $0 == 1 ? .busy : .unproved }
        #expect(tried == [1, 2, 3, 1])
        #expect(round.tried == 3)
    }

    @Test func `Whoever announces ever more makes nobody knock without end`() {
        var round = CodeRound()
        for number in 0..<1000 as Range<UInt16> { round.add([Self.door(number + 1)], of: "\(number)") }
        let tried = ports(&round) { _ in .unproved }
        #expect(tried.count == CodeRound.mostDoors)
    }
}
