import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// How often members make links, and what these may cost.
struct MeshLinkTests {
    private func pauses(_ index: Int, by number: UInt8, _ room: MeshSimulation) -> [MeshPause] {
        room.members[index].events.compactMap {
            if case .refused(by: .made(number), let pause) = $0 { pause } else { nil }
        }
    }

    private func violations(_ index: Int, _ room: MeshSimulation) -> [DeviceKey] {
        room.members[index].events.compactMap { if case .violated(let device, _) = $0 { device } else { nil } }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `Who breaks the rules on each link gets ever fewer, and neither end redials meanwhile`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        room.lossOneIn = 0
        try room.makeRoom(3)
        // Each status that the third sends, whoever's it is, has a wrong signature.
        room.tamper = { message, from, _ in
            guard from == 2, case .mesh(.statuses(var statuses)) = message else { return message }
            for index in statuses.indices {
                statuses[index].counter += 1 << 40
                statuses[index].signature = [UInt8](repeating: 0, count: 64)
            }
            return .mesh(.statuses(statuses))
        }
        let dialled = room.members.map(\.dialled.count)
        room.run(for: .seconds(120))
        for index in 0..<2 {
            // After 5, 15 and 60 s.
            #expect((2...4).contains(violations(index, room).count))
            #expect(violations(index, room).allSatisfy { $0 == .made(3) })
            #expect(room.present(index).isSuperset(of: [1, 2]))
        }
        for (index, member) in room.members.enumerated() {
            #expect(member.dialled.count - dialled[index] <= 10, "member \(index + 1) dials again and again")
        }
        #expect(!pauses(2, by: 1, room).isEmpty)
        // Once it keeps to the rules, it is there again.
        room.tamper = nil
        room.run(for: .seconds(310))
        #expect(room.present(0) == [1, 2, 3])
        #expect(room.openPairs.contains([0, 2]))
    }

    @Test func `A pause that a member is told is kept to, and at most for five minutes`() throws {
        var room = MeshSimulation(seed: 3)
        try room.makeRoom(2)
        for (milliseconds, seconds) in [(20_000, 20), (.max, 300)] as [(UInt32, Int64)] {
            let dialled = room.members[0].dialled.count
            let now = room.now
            room.act(0) { mesh, now in
                let pause = MeshPause(reason: 99, milliseconds: milliseconds)
                mesh.received(.mesh(.paused(pause)), from: mesh.links[0].id, now: now)
            }
            #expect(room.members[0].refusals.last == .paused(.other))
            room.members[1].mesh.dials = [:]
            room.run(for: .seconds(seconds) - .milliseconds(100))
            #expect(room.members[0].dialled.count == dialled)
            room.run(for: .seconds(3))
            #expect(room.members[0].dialled.count > dialled, "\(room.now - now)")
            room.run(for: .seconds(3))
            #expect(room.present(0) == [1, 2])
        }
    }

    @Test func `Who comes back to a full room is told so, and tries again slowly`() throws {
        var room = MeshSimulation(seed: 1)
        try room.makeRoom(8)
        room.kill(5)
        room.run(for: .seconds(4))
        room.add(9)
        try room.enter(8, through: 3)
        room.run(for: .seconds(3))
        room.restart(5)
        let dialled = room.members.map(\.dialled.count)
        room.run(for: .seconds(60))
        let wasTold = room.members[5].events.contains {
            if case .refused(_, let pause) = $0 { pause.reason == .full } else { false }
        }
        #expect(wasTold)
        for (index, member) in room.members.enumerated() {
            // Seven others after 5, 10, 30 s …
            #expect(member.dialled.count - dialled[index] <= 50, "member \(index + 1)")
        }
        // A place becomes free.
        room.act(6) { $0.leave(now: $1) }
        room.run(for: .seconds(40))
        #expect(room.present(5).count == 8)
    }

    @Test func `Who is one too many after a split learns it from the others' statuses`() throws {
        var room = MeshSimulation(seed: 12)
        try room.makeRoom(6, byFounder: true)
        room.split(at: 3)
        room.run(for: .seconds(5))
        for number in 7...9 {
            room.add(UInt8(number))
            for other in 3..<room.members.count - 1 { room.block(other, room.members.count - 1) }
            try room.enter(room.members.count - 1, through: 0)
            room.run(for: .seconds(1))
        }
        // The last one has a link to the other side first, and its own side none any more.
        for index in 0..<3 { room.block(index, 8) }
        room.unblock(3, 8)
        room.run(for: .seconds(5))
        #expect(room.present(8).contains(4))
        for one in 0..<3 { for other in 3..<6 { room.unblock(one, other) } }
        for one in 3..<6 { for other in 6..<8 { room.unblock(one, other) } }
        room.run(for: .seconds(10))
        #expect(room.members[8].events.contains(.full))
        #expect(room.members.filter { $0.events.contains(.full) }.count == 1)
    }

    @Test func `Links that a member opens without pause are turned away`() throws {
        var room = MeshSimulation(seed: 4)
        try room.makeRoom(2)
        var (mesh, now, turnedAway) = (room.members[0].mesh, room.now, 0)
        let before = mesh.links.map(\.id)
        for number in 0..<100 as Range<UInt64> {
            now = now + .milliseconds(10)
            mesh.opened(MeshLinkID(1000 + number), device: .made(2), isOutgoing: false, now: now)
            mesh.settle(now: now)
            while let output = mesh.pollOutput() {
                if case .close(_, .paused(.tooMany)) = output { turnedAway += 1 }
            }
        }
        #expect(turnedAway >= 85)
        #expect(mesh.links.count == 1, "\(before)")
        // After a while it gets one again.
        now = now + .seconds(15)
        mesh.settle(now: now)
        mesh.opened(MeshLinkID(2000), device: .made(2), isOutgoing: false, now: now)
        #expect(mesh.links.map(\.id) == [MeshLinkID(2000)])
    }

    @Test func `However many belong to the room, eight a second are dialled at most, and those first that were met`()
        throws
    {
        var room = MeshSimulation(seed: 6)
        room.lossOneIn = 0
        try room.makeRoom(2)
        for number in 20..<80 as Range<UInt8> {
            let key = LogSigning.simulated(number).signing.publicKey
            try room.act(0) { (mesh, now) throws(MeshRefusal) in
                try mesh.admit(publicKey: key, name: "ghost", now: now)
            }
        }
        room.run(for: .seconds(10))
        let before = room.members[0].dialled.count
        room.run(for: .seconds(20))
        let count = room.members[0].dialled.count - before
        #expect((60...165).contains(count), "\(count) dials in 20 s")
        // The other member is away for a moment: it doesn't wait for the others.
        room.block(0, 1)
        room.run(for: .seconds(4))
        #expect(room.present(0) == [1])
        room.heal()
        room.run(for: .seconds(5))
        #expect(room.present(0) == [1, 2])
    }

    @Test func `A link that costs too much is read later, and not lost for that`() throws {
        var room = MeshSimulation(seed: 8)
        try room.makeRoom(3)
        var (mesh, now) = (room.members[0].mesh, room.now)
        let link = try #require(mesh.links.first { $0.device == .made(2) }).id
        let step = Duration.milliseconds(5 * LinkBudget.scale)
        var (held, resumed, spent) = (0, 0, Duration.zero)
        let end = now + .seconds(60)
        while now < end {
            if mesh.links.first(where: { $0.id == link })?.heldUntil == nil {
                let isHeld = mesh.spent(step, bytes: 100, on: link, of: .made(2), now: now)
                spent += step
                if isHeld { held += 1 }
            }
            now = now + .milliseconds(10)
            for other in mesh.links where other.id != link {
                mesh.received(.mesh(.alive), from: other.id, now: now)
            }
            if mesh.deadline <= now { mesh.settle(now: now) }
            while let output = mesh.pollOutput() {
                if case .resume(link) = output { resumed += 1 }
                if case .close(let id, let reason) = output { Issue.record("\(id) is closed: \(reason)") }
            }
        }
        #expect(held > 0 && held - resumed <= 1)
        // Half of 80 ms a second, and 200 ms at once.
        #expect(spent / Int(LinkBudget.scale) < .milliseconds(2700), "\(spent)")
        #expect(spent / Int(LinkBudget.scale) > .milliseconds(2000), "\(spent)")
    }

    @Test func `Messages without end are read at 400 a second`() throws {
        var room = MeshSimulation(seed: 8)
        try room.makeRoom(2)
        var (mesh, now, count) = (room.members[0].mesh, room.now, 0)
        let link = mesh.links[0].id
        let end = now + .seconds(10)
        while now < end {
            if mesh.links[0].heldUntil == nil {
                mesh.received(.mesh(.alive), from: link, now: now)
                _ = mesh.spent(.microseconds(1), bytes: 1, on: link, of: .made(2), now: now)
                count += 1
            } else {
                now = now + .milliseconds(1)
                if mesh.deadline <= now { mesh.settle(now: now) }
            }
        }
        #expect((4000...4900).contains(count), "\(count)")
        #expect(mesh.links.map(\.id) == [link])
    }

    @Test func `Strangers together get little time, and members' links stay`() throws {
        var room = MeshSimulation(seed: 9)
        try room.makeRoom(3)
        var (mesh, now) = (room.members[0].mesh, room.now)
        let members = Set(mesh.links.map(\.id))
        for number in 0..<4 as Range<UInt64> {
            mesh.opened(MeshLinkID(100 + number), device: .made(100 + UInt8(number)), isOutgoing: false, now: now)
        }
        #expect(mesh.links.count == 6)
        for _ in 0..<30 {
            let step = Duration.milliseconds(5 * LinkBudget.scale)
            _ = mesh.spent(step, bytes: 100, on: MeshLinkID(100), of: .made(100), now: now)
        }
        #expect(Set(mesh.links.map(\.id)) == members)
        mesh.opened(MeshLinkID(200), device: .made(110), isOutgoing: false, now: now)
        #expect(Set(mesh.links.map(\.id)) == members)
        now = now + .seconds(30)
        mesh.opened(MeshLinkID(201), device: .made(110), isOutgoing: false, now: now)
        #expect(mesh.links.contains { $0.id == MeshLinkID(201) })
    }

    @Test func `A pause is written and read`() throws {
        let message = SecureMessage.mesh(.paused(MeshPause(.full, .milliseconds(5000))))
        #expect(message.bytes == [0x56, 2, 0, 0, 0x13, 0x88])
        #expect(try SecureMessage(message.bytes) == message)
        #expect(throws: SecureMessageError.self) { try SecureMessage([0x56, 2, 0, 0]) }
        guard case .mesh(.paused(let pause)) = try SecureMessage([0x56, 77, 0xFF, 0xFF, 0xFF, 0xFF]) else {
            Issue.record("another message")
            return
        }
        #expect(pause == MeshPause(.other, .seconds(300)))
    }
}
