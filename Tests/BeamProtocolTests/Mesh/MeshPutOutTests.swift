import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Putting out a member that has let others in.
struct MeshPutOutTests {
    /// 1 has founded the room and let in 2; 2 let in 3 and 4; 3 let in 5.
    private func family(seed: UInt64) throws -> MeshSimulation {
        var room = MeshSimulation(seed: seed)
        for number in 1...5 as ClosedRange<UInt8> { room.add(number) }
        room.found(0)
        for (newcomer, host) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
            try room.enter(newcomer, through: host)
            room.run(for: .milliseconds(500))
        }
        room.run(for: .seconds(2))
        return room
    }

    private func devices(_ room: MeshSimulation, _ index: Int) -> [DeviceKey] {
        room.members[index].mesh.membership?.devices ?? []
    }

    @Test func `Those stay whom the member has let in, and nobody notices`() throws {
        var room = try family(seed: 1)
        for index in room.members.indices { room.say(.note("before"), by: index) }
        room.run(for: .seconds(1))
        for member in room.members { member.refusals = [] }
        let ranks = devices(room, 0)
        try room.putOut(2, by: 0)
        room.run(for: .seconds(2))
        for index in [0, 2, 3, 4] {
            #expect(devices(room, index) == ranks.filter { $0 != .made(2) }, "the order of stays is as before")
            #expect(room.present(index) == [1, 3, 4, 5])
            // No link but those with member 2 was closed.
            #expect(room.members[index].refusals.allSatisfy { $0 == .notAMember }, "\(room.members[index].refusals)")
        }
        #expect(room.members[1].events.contains(.putOut(by: "member 1")))
        // What the founder had of it by then.
        let run = room.members[1].mesh.own.run
        #expect(
            room.members[4].mesh.membership?.lastEntries(of: .made(2)) == [
                run: room.members[0].mesh.log.last(of: room.members[1].mesh.own)
            ])
        // They let others in as before, and are put out by whom they were let in by.
        room.add(6)
        try room.enter(5, through: 4)
        room.run(for: .seconds(2))
        #expect(room.present(0) == [1, 3, 4, 5, 6])
        try room.putOut(5, by: 2)
        room.run(for: .seconds(2))
        for index in [0, 2, 3, 5] { #expect(room.present(index) == [1, 3, 4, 6]) }
    }

    /// Member 5 has let in the key of 6 before that one came to the founder's door.
    @Test func `Who is let in at an honest door stays when another one is put out who had let it in, too`() throws {
        var room = try family(seed: 4)
        try room.act(4) { (mesh, now) throws(MeshRefusal) in
            try mesh.admit(publicKey: LogSigning.simulated(6).signing.publicKey, name: "nobody", now: now)
        }
        room.run(for: .seconds(1))
        room.add(6)
        try room.enter(5, through: 0)
        room.run(for: .seconds(2))
        #expect(room.members[2].mesh.membership?.person(.made(6))?.name == "member 6")
        try room.putOut(5, alsoThoseLetIn: true, by: 0)
        room.run(for: .seconds(2))
        for index in [0, 1, 2, 3, 5] { #expect(room.present(index) == [1, 2, 3, 4, 6]) }
    }

    @Test func `Those go with the member whom it has let in, if that is wanted`() throws {
        var room = try family(seed: 2)
        room.add(6)
        try room.enter(5, through: 0)
        room.run(for: .seconds(2))
        room.say(.note("before"), by: 4)
        room.run(for: .seconds(1))
        #expect(room.members[0].mesh.letIn(by: .made(2)).map(\.device) == [.made(3), .made(4), .made(5)])
        #expect(room.members[0].mesh.letIn(by: .made(6)).isEmpty)
        try room.putOut(2, alsoThoseLetIn: true, by: 0)
        room.run(for: .seconds(2))
        for index in [0, 5] { #expect(room.present(index) == [1, 6]) }
        for index in 1...4 { #expect(room.members[index].events.contains(.putOut(by: "member 1"))) }
        // Their words until then are still taken from others.
        let author = room.members[4].mesh.own
        #expect(
            room.members[5].mesh.membership?.lastEntries(of: .made(5)) == [
                author.run: room.members[0].mesh.log.last(of: author)
            ])
    }

    @Test func `Whom the member had put out stays out`() throws {
        var room = try family(seed: 3)
        try room.putOut(4, by: 1)
        room.run(for: .seconds(1))
        room.add(6)
        try room.enter(5, through: 0)
        room.run(for: .seconds(1))
        try room.putOut(6, by: 1)
        room.run(for: .seconds(1))
        try room.putOut(2, by: 0)
        room.run(for: .seconds(2))
        for index in [0, 2, 4] { #expect(room.present(index) == [1, 3, 5]) }
    }

    @Test func `Who is let in while the member is put out elsewhere stays`() throws {
        var room = try family(seed: 4)
        room.add(6)
        // 3 and 5 are cut off, and 3 lets in 6.
        for one in [0, 1, 3] { for other in [2, 4, 5] { room.block(one, other) } }
        room.run(for: .seconds(6))
        try room.enter(5, through: 2)
        room.run(for: .seconds(2))
        try room.putOut(2, by: 0)
        room.run(for: .seconds(2))
        room.heal()
        room.run(for: .seconds(40))
        for index in [0, 2, 3, 4, 5] { #expect(room.present(index) == [1, 3, 4, 5, 6], "at \(index)") }
    }

    @Test func `A member that floods is put out, and newcomers come in`() throws {
        var room = MeshSimulation(seed: 5)
        for number in 1...4 as ClosedRange<UInt8> { room.add(number) }
        room.found(0)
        for index in 1...3 { try room.enter(index, through: 0) }
        room.run(for: .seconds(2))
        let membership = try #require(room.members[2].mesh.membership)
        let stay = try #require(membership.person(.made(3))?.stay)
        let liar = LogSigning.simulated(3).signing
        for count in 0..<240 {
            let statement = MembershipStatement(
                count % 2 == 0
                    ? .admitted(publicKey: LogSigning.simulated(UInt8(count)).signing.publicKey, name: "ghost")
                    : .putOut([.init(stay: stay, last: [UInt64(count): 1])]),
                stay: stay, milliseconds: UInt64(count), room: membership.room, signing: liar)
            room.inject(.mesh(.statements([statement])), from: 2)
            if count % 40 == 0 { room.run(for: .milliseconds(200)) }
        }
        room.run(for: .seconds(2))
        #expect(room.members[0].mesh.membership?.statements.count == MeshLimits.statements + 1)
        room.add(250)
        try room.enter(4, through: 1)
        room.run(for: .seconds(2))
        #expect(room.present(0) == [1, 2, 3, 4, 250])
        try room.putOut(3, alsoThoseLetIn: true, by: 0)
        room.run(for: .seconds(2))
        for index in [0, 1, 3, 4] {
            #expect(room.present(index) == [1, 2, 4, 250])
            #expect(devices(room, index) == devices(room, 0))
            #expect(
                !room.members[index].events.contains {
                    if case .violated(let who, _) = $0 { who != .made(3) } else { false }
                })
        }
    }
}
