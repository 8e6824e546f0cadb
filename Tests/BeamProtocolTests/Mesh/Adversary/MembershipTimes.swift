import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a member's statements cost another one that has nearly as many people on record as there is room for
/// (`Scripts/fuzz --room-times`). Signatures are simulated: a real one costs 0.1 ms more for each new statement.
struct MembershipTimes {
    private var room: MeshSimulation
    private let link: MeshLinkID
    private static let people = 183
    private static let rounds = 51

    init() throws {
        room = MeshSimulation(seed: 1)
        room.lossOneIn = 0
        try room.makeRoom(2)
        for number in 3...UInt8(Self.people) {
            let key = LogSigning.simulated(number).signing.publicKey
            try room.act(0) { (mesh, now) throws(MeshRefusal) in
                try mesh.admit(publicKey: key, name: "person \(number)", now: now)
            }
        }
        room.run(for: .seconds(1))
        link = room.members[0].mesh.links[0].id
    }

    private var membership: Membership? { room.members[0].mesh.membership }

    /// What is measured, and its median.
    func measure() -> [(what: String, time: Duration)] {
        let known = Array((membership?.statements ?? []).suffix(20))
        return [
            ("a message of 20 statements that are known", median { _, _ in known }),
            ("a message of 20 statements of nobody", median { own, round in own.foreign(20, round) }),
            ("a message with a new statement", median { own, _ in own.new() }),
        ]
    }

    private func median(_ statements: (Self, Int) -> [MembershipStatement]) -> Duration {
        let times = (0..<Self.rounds).map { round in
            let message = SecureMessage.mesh(.statements(statements(self, round)))
            // The room stays as it was.
            var mesh = room.members[0].mesh
            mesh.received(.mesh(.alive), from: link, now: room.now)
            return ContinuousClock().measure {
                mesh.received(message, from: link, now: room.now)
                mesh.settle(now: room.now)
            }
        }
        return times.sorted()[Self.rounds / 2]
    }

    private func statement(_ number: Int, by author: UInt8, in stay: MembershipStatement.ID) -> MembershipStatement {
        let key = LogSigning.simulated(UInt8(190 + number % 60)).signing.publicKey
        return MembershipStatement(
            .admitted(publicKey: key, name: "new \(number)"), stay: stay, milliseconds: UInt64(number),
            room: membership?.room ?? [], signing: LogSigning.simulated(author).signing)
    }

    private func foreign(_ count: Int, _ round: Int) -> [MembershipStatement] {
        let nowhere = MembershipStatement.ID(bytes: [UInt8](repeating: 7, count: MembershipStatement.ID.length))
        return (0..<count).map { statement(round * count + $0, by: 2, in: nowhere) }
    }

    private func new() -> [MembershipStatement] {
        [statement(1, by: 2, in: membership?.person(.made(2))?.stay ?? .founder)]
    }
}
