import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Members of a room of equals that lie, and strangers.
struct MeshAttackTests {
    @Test func `A stranger learns nothing and isn't let in`() throws {
        var room = MeshSimulation(seed: 1)
        try room.makeRoom(3)
        let stranger = room.add(9)
        // It knows the room's ID and statements, say from a member that was put out.
        let membership = try #require(room.members[0].mesh.membership)
        room.act(stranger) {
            $0.resume(room: membership.room, statements: membership.statements, age: .zero, now: $1)
        }
        #expect(room.members[stranger].mesh.membership == nil)
        var told = 0
        room.tamper = { message, _, to in
            if to == stranger { told += 1 }
            return message
        }
        let greeting = MeshMessage.Greeting(
            room: membership.room, age: 0, run: 1, completeSince: 0, has: [:], statements: membership.statements)
        room.attach(stranger, to: 0)
        room.inject(.mesh(.greeting(greeting)), from: stranger)
        room.say(.note("secret"), by: 0)
        room.run(for: .seconds(3))
        #expect(told == 0)
        #expect(room.members[0].refusals == [.notAMember])
        #expect(room.present(0) == [1, 2, 3])
    }

    @Test func `Who is put out gets nothing from then on, and neither does whom he lets in`() throws {
        var room = MeshSimulation(seed: 2)
        try room.makeRoom(4)
        room.add(5)
        room.say(.note("before"), by: 0)
        room.run(for: .seconds(1))
        try room.putOut(3, by: 0)
        room.run(for: .seconds(1))
        room.say(.note("after"), by: 1)
        // It admits somebody all the same.
        #expect(throws: MeshRefusal.noRoom) { try room.enter(4, through: 2) }
        room.run(for: .seconds(4))
        #expect(!room.notes(2).contains { $0.hasSuffix("after") })
        #expect(room.members[2].events.contains(.putOut(by: "member 1")))
        for index in [0, 1, 3] {
            #expect(room.present(index) == [1, 2, 4])
            #expect(room.notes(index).contains("member 2: after"))
        }
        // It comes back by itself: nobody takes it.
        room.restart(2)
        room.run(for: .seconds(4))
        #expect(room.present(0) == [1, 2, 4])
        // Only those who came before may put somebody out.
        #expect(throws: MeshRefusal.wasHereBefore) {
            try room.putOut(1, by: 3)
        }
    }

    @Test func `Who was put out during a split is put out when it heals`() throws {
        var room = MeshSimulation(seed: 4)
        try room.makeRoom(4)
        room.split(at: 2)
        room.run(for: .seconds(5))
        // The founder's side puts out a member of the other side.
        try room.putOut(4, by: 0)
        room.say(.note("meanwhile"), by: 3)
        room.run(for: .seconds(2))
        room.heal()
        room.run(for: .seconds(4))
        for index in 0..<3 { #expect(room.present(index) == [1, 2, 3]) }
        // Whoever put it out didn't know these words: nobody can tell when they were written.
        #expect(!room.notes(0).contains("member 4: meanwhile"))
        #expect(room.violators(0).isEmpty && room.violators(2).isEmpty)
        #expect(room.members[3].events.contains(.putOut(by: "member 1")))
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `Who passes entries on can't change, invent or leave out any`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(4)
        // The second is the only way between the first and the others.
        room.block(0, 2)
        room.block(0, 3)
        room.run(for: .seconds(5))
        var random = SeededGenerator(seed: seed)
        var isHonest = false
        room.tamper = { message, from, _ in
            guard from == 1, !isHonest, case .room(.batch(var batch)) = message else { return message }
            switch random.next(upperBound: 3 as UInt64) {
            case 0:
                batch.items[0].entry = .whole(LogEntry(kind: .note, milliseconds: 1, body: Array("forged".utf8)))
            case 1: batch.items[0].entry = .redacted(digest: [UInt8](repeating: 1, count: 32))
            default: batch.sections[0].first += 1
            }
            return .room(.batch(batch))
        }
        for number in 0..<10 {
            room.say(.note("\(number)"), by: 0)
            room.run(for: .milliseconds(100))
        }
        for index in 2...3 {
            let notes = room.notes(index).filter { $0.hasPrefix("member 1") }
            #expect(notes == Array((0..<10).map { "member 1: \($0)" }.prefix(notes.count)))
            #expect(!room.notes(index).contains { $0.contains("forged") })
        }
        // When it is honest again, or another way is there, everything comes.
        isHonest = true
        room.unblock(0, 2)
        room.run(for: .seconds(40))
        for index in 2...3 {
            #expect(room.notes(index).filter { $0.hasPrefix("member 1") } == (0..<10).map { "member 1: \($0)" })
        }
    }

    @Test func `A member can't speak for another, nor invent one`() throws {
        var room = MeshSimulation(seed: 6)
        try room.makeRoom(3)
        let id = try #require(room.members[0].mesh.membership?.room)
        let liar = LogSigning.simulated(3).signing
        // A status of member 2, signed by member 3.
        var status = MemberStatus(
            run: 1, counter: .max, flags: [.isLeaving], sealingKey: [UInt8](repeating: 3, count: 65), addresses: [],
            links: [], received: [:], room: id, signing: liar)
        status.publicKey = LogSigning.simulated(2).signing.publicKey
        room.inject(.mesh(.statuses([status])), from: 2)
        room.run(for: .seconds(1))
        #expect(room.present(0).contains(2))
        #expect(room.members[0].events.contains { if case .violated(.made(3), _) = $0 { true } else { false } })
        room.run(for: .seconds(30))
        // An admission in the name of member 1.
        var statement = MembershipStatement(
            .admitted(publicKey: LogSigning.simulated(9).signing.publicKey, name: "ghost"),
            stay: try #require(room.members[1].mesh.membership?.person(.made(1))?.stay),
            milliseconds: 1, room: id, signing: liar)
        statement.publicKey = LogSigning.simulated(1).signing.publicKey
        room.inject(.mesh(.statements([statement])), from: 2)
        room.run(for: .seconds(1))
        #expect(room.members[1].mesh.membership?.belongs(.made(9)) == false)
    }

    @Test func `Nobody keeps a dead member here`() throws {
        var room = MeshSimulation(seed: 8)
        try room.makeRoom(4)
        room.kill(3)
        room.run(for: .seconds(4))
        // Member 3 says that it still has a link to the dead one, whose last status says the same.
        let id = try #require(room.members[0].mesh.membership?.room)
        for number in 0..<8 as Range<UInt64> {
            let status = MemberStatus(
                run: 77, counter: 1 << 40 + number, flags: [], sealingKey: [UInt8](repeating: 3, count: 65),
                addresses: [], links: [.made(1), .made(2), .made(4)], received: [:], room: id,
                signing: LogSigning.simulated(3).signing)
            room.inject(.mesh(.statuses([status])), from: 2)
            room.run(for: .seconds(1))
        }
        #expect(room.present(0) == [1, 2, 3])
    }

    @Test func `A flood of one member is slowed, and others' words pass`() throws {
        var room = MeshSimulation(seed: 9)
        room.lossOneIn = 0
        try room.makeRoom(3)
        room.act(2) { mesh, now in for number in 0..<5000 { mesh.handle(.note("flood \(number)"), now: now) } }
        room.run(for: .seconds(2))
        room.say(.note("hello"), by: 0)
        room.run(for: .seconds(1))
        #expect(room.notes(1).contains("member 1: hello"))
        let flooded = room.notes(1).count { $0.contains("flood") }
        #expect(flooded < 2600)
        #expect(room.members[2].events.contains(.log(.slowed(true))))
        room.run(for: .seconds(30))
        #expect(room.notes(1).count { $0.contains("flood") } == 5000)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `Garbage from a member ends at most its own link`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(3)
        var random = SeededGenerator(seed: seed)
        var changed = 0
        room.tamper = { message, from, _ in
            guard from == 2, random.next(upperBound: 4 as UInt64) == 0 else { return message }
            var bytes = message.bytes
            for _ in 0..<1 + random.next(upperBound: 3 as UInt64) {
                bytes[Int(random.next(upperBound: UInt64(bytes.count)))] = UInt8(random.next(upperBound: 256 as UInt64))
            }
            changed += 1
            return try? SecureMessage(bytes)
        }
        for number in 0..<10 {
            room.say(.note("\(number)"), by: Int(random.next(upperBound: 3 as UInt64)))
            room.run(for: .milliseconds(200))
        }
        #expect(changed > 0)
        #expect(room.present(0).isSuperset(of: [1, 2]))
        #expect(room.present(1).isSuperset(of: [1, 2]))
        room.tamper = nil
        // A message that was lost is noticed when it isn't confirmed. Who broke the rules gets no connection for minutes.
        for _ in 0..<12 where (0..<3).contains(where: { room.logs($0) != room.logs(0) }) { room.run(for: .seconds(60)) }
        for index in 0..<3 { #expect(room.logs(index) == room.logs(0)) }
    }

    @Test func `A sealed message is read by its recipient only, and not if it was changed`() throws {
        let (alice, bob, eve) = (MeshSealing(), MeshSealing(), MeshSealing())
        let sealed = try #require(alice.seal(Array("hi".utf8), bob.publicKey, [1, 2]))
        #expect(bob.open(sealed, [1, 2]) == Array("hi".utf8))
        #expect(bob.open(sealed, [1, 3]) == nil)
        #expect(eve.open(sealed, [1, 2]) == nil)
        for place in [0, 70, sealed.count - 1] {
            var changed = sealed
            changed[place] ^= 1
            #expect(bob.open(changed, [1, 2]) == nil)
        }
        #expect(alice.seal([1], [UInt8](repeating: 0, count: 65), []) == nil)
        #expect(bob.publicKey.count == MemberStatus.sealingKeyLength)
    }

    @Test func `Ever new addresses don't make others dial without end`() throws {
        var room = MeshSimulation(seed: 5)
        try room.makeRoom(3)
        room.block(0, 2)
        room.run(for: .seconds(5))
        var (mesh, now, dials) = (room.members[0].mesh, room.now, 0)
        for _ in 0..<100 {
            now = now + .milliseconds(100)
            mesh.appeared(.made(3), now: now)
            mesh.settle(now: now)
            while let output = mesh.pollOutput() {
                guard case .dial(let device) = output, device == .made(3) else { continue }
                dials += 1
                mesh.dialFailed(device, now: now)
            }
        }
        #expect((1...25).contains(dials), "\(dials) dials in 10 s")
    }
}
