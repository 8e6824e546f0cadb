import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A member's name, place and words of the membership, when another one that came before it means harm.
struct MeshStandingTests {
    /// 1 has founded the room and let in 2 and 3; 3 let in 4.
    private func room(seed: UInt64) throws -> MeshSimulation {
        var room = MeshSimulation(seed: seed)
        for number in 1...4 as ClosedRange<UInt8> { room.add(number) }
        room.found(0)
        for (newcomer, host) in [(1, 0), (2, 0), (3, 2)] {
            try room.enter(newcomer, through: host)
            room.run(for: .milliseconds(500))
        }
        room.run(for: .seconds(2))
        return room
    }

    /// Member 2 lets them in, at the earliest time that counts.
    private func admit(_ numbers: [UInt8], _ name: String, in room: inout MeshSimulation) throws {
        let membership = try #require(room.members[0].mesh.membership)
        let stay = try #require(membership.person(.made(2))).stay
        let statements = numbers.map { number in
            MembershipStatement(
                .admitted(publicKey: LogSigning.simulated(number).signing.publicKey, name: name), stay: stay,
                milliseconds: 0, room: membership.room, signing: LogSigning.simulated(2).signing)
        }
        room.inject(.mesh(.statements(statements)), from: 1)
    }

    @Test func `Nobody is renamed or taken along by a member that came before`() throws {
        var room = try room(seed: 1)
        try admit([3, 4], "member 1", in: &room)
        room.run(for: .seconds(2))
        #expect(room.members[0].mesh.membership?.person(.made(4))?.name == "member 1")
        room.add(5)
        try room.enter(4, through: 3)
        room.run(for: .seconds(2))
        for index in room.members.indices {
            #expect(room.members[index].mesh.people.map(\.name).sorted() == (1...5).map { "member \($0)" })
            room.members[index].refusals = []
        }
        try room.putOut(2, alsoThoseLetIn: true, by: 0)
        room.run(for: .seconds(3))
        for index in [0, 2, 3, 4] {
            #expect(room.present(index) == [1, 3, 4, 5])
            #expect(room.members[index].refusals.allSatisfy { $0 == .notAMember })
        }
        // A program that starts again speaks in the stay in which it spoke.
        let stay = room.members[3].mesh.stay
        room.restart(3)
        #expect(stay != nil && room.members[3].mesh.stay == stay)
    }

    @Test func `A member says what it is called, and namesakes are told apart`() throws {
        var room = try room(seed: 2)
        let status = MemberStatus(
            run: 1, counter: 1 << 41, flags: [], sealingKey: [UInt8](repeating: 2, count: 65), addresses: [],
            links: [.made(1), .made(3), .made(4)], received: [:], name: "member 3", room: room.room,
            signing: LogSigning.simulated(2).signing)
        room.inject(.mesh(.statuses([status])), from: 1)
        room.run(for: .seconds(1))
        let names = room.members[0].mesh.people.map(\.name)
        #expect(Set(names).count == 4 && names.filter { $0.hasPrefix("member 3 (") }.count == 2, "\(names)")
    }

    @Test func `A name in a status is read as it was written, and only if it is one`() {
        for (name, isRead) in [
            ("", true), ("Ann", true), ("A\u{202E}nn", false), (String(repeating: "n", count: 40), false),
        ] {
            let status = MemberStatus(
                run: 1, counter: 1, flags: [], sealingKey: [UInt8](repeating: 2, count: 65), addresses: [], links: [],
                received: [:], name: name, room: [], signing: LogSigning.simulated(2).signing)
            let read = status.bytes.withUnsafeBytes { bytes in
                var reader = BigEndianReader(bytes)
                return MemberStatus(&reader)
            }
            #expect((read == status) == isRead, "\(name)")
        }
    }

    /// Their stays seem to begin before those of members 3 and 4.
    @Test func `Who lets in many takes nobody's place`() throws {
        var room = try room(seed: 3)
        let ghosts = Array(100..<112 as Range<UInt8>)
        try admit(ghosts, "ghost", in: &room)
        for counter in 0..<10 as Range<UInt64> {
            let statuses = (ghosts + [2]).map { number in
                MemberStatus(
                    run: 1, counter: 1 << 41 + counter, flags: [],
                    sealingKey: [UInt8](repeating: number, count: 65), addresses: [],
                    links: number == 2 ? [.made(1), .made(3), .made(4)] + ghosts.map { .made($0) } : [.made(2)],
                    received: [:], room: room.room, signing: LogSigning.simulated(number).signing)
            }
            room.inject(.mesh(.statuses(statuses)), from: 1)
            room.run(for: .milliseconds(500))
        }
        for index in [0, 2, 3] {
            #expect(room.members[index].mesh.present.count > MeshLimits.members)
            #expect(!room.members[index].events.contains(.full))
            #expect(room.present(index).isSuperset(of: [1, 3, 4]))
        }
        try room.putOut(2, alsoThoseLetIn: true, by: 0)
        room.run(for: .seconds(2))
        room.add(5)
        try room.enter(4, through: 2)
        room.run(for: .seconds(2))
        for index in [0, 2, 3, 4] { #expect(room.present(index) == [1, 3, 4, 5]) }
    }

    @Test func `There is a turn for each of those whom a member has let in`() throws {
        var statements = StatementRoom()
        let (founding, two, three) = (statements.found(), statements.admit(2), statements.admit(3))
        let four = statements.admit(4, by: 3, in: three)
        let five = statements.admit(5, by: 4, in: four)
        let flood = (20..<40 as Range<UInt8>).map { statements.admit($0, by: 2, in: two, at: 0) }
        // In the flood is one of the honest ones, too.
        let again = statements.admit(4, by: 2, in: two)
        var membership = try statements.gathered([founding, two, three, four, five, again] + flood)
        let here = [1, 2, 3, 4, 5] + Array(20..<40) as [UInt8]
        let order = membership.inTurn(here.map { .made($0) }).map { key in here.first { .made($0) == key } ?? 0 }
        #expect(Array(order.prefix(3)) == [1, 2, 3])
        #expect(Set([4, 5]).isSubset(of: order.prefix(8)) && order.count == here.count)
        // Who isn't here takes no turn, and who is out none, either.
        #expect(membership.inTurn([.made(5), .made(22), .made(1)]) == [.made(1), .made(22), .made(5)])
        _ = try membership.add(statements.putOut([two]))
        #expect(membership.inTurn([.made(22), .made(5), .made(4)]) == [.made(4), .made(5)])
    }
}
