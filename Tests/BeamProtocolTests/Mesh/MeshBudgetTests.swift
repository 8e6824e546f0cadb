import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Members that write too much, through whomever.
struct MeshBudgetTests {
    /// A member has let in a second key of its own, and passes on what that has written: `count` notes.
    private func flood(_ room: inout MeshSimulation, by index: Int, key: UInt8, run: UInt64, count: Int) {
        var writer = MeshWriter(key, run: run, room: room.room)
        var left = count
        while left > 0 {
            let part = min(left, 90)
            left -= part
            let batch = writer.notes((0..<part).map { "flood \(run) \(left + $0)" })
            room.plant(batch, at: index)
        }
    }

    @Test func `A second key doesn't let anybody write more`() throws {
        var room = MeshSimulation(seed: 1)
        room.lossOneIn = 0
        try room.makeRoom(4)
        try room.act(3) { mesh, now throws(MeshRefusal) in
            try mesh.admit(publicKey: LogSigning.simulated(9).signing.publicKey, name: "second", now: now)
        }
        room.run(for: .seconds(1))
        flood(&room, by: 3, key: 9, run: 1, count: 10_000)
        flood(&room, by: 3, key: 9, run: 2, count: 10_000)
        let before = room.now
        for number in 0..<10 {
            room.say(.note("\(number)"), by: number % 4)
            room.run(for: .milliseconds(500))
        }
        for index in 0..<3 {
            let flooded = room.notes(index).count { $0.hasPrefix("second") }
            let seconds = (room.now - before).inSeconds
            #expect(flooded > 1000 && flooded <= MeshLimits.authorBurst + Int(200 * seconds) + 200, "\(flooded)")
            // Words of others pass, also those that come over the same link.
            for number in 0..<10 { #expect(room.notes(index).contains("member \(number % 4 + 1): \(number)")) }
            #expect(room.violators(index).isEmpty)
            #expect(!room.members[index].events.contains(.log(.slowed(true))))
        }
        // In the end all of it has come: nothing is lost by being held.
        room.run(for: .seconds(60))
        for index in 0..<3 { #expect(room.notes(index).count { $0.hasPrefix("second") } == 20_000) }
        for index in 0..<3 { #expect(room.violators(index).isEmpty && room.present(index).count == 4) }
    }

    @Test func `Who wants everything again and again gets it slowly, and nobody else waits`() throws {
        var room = MeshSimulation(seed: 2)
        room.lossOneIn = 0
        try room.makeRoom(3)
        for number in 0..<1500 { room.say(.note("\(number)"), by: 0) }
        room.run(for: .seconds(15))
        let own = room.members[0].mesh.own
        var sent = 0
        room.tamper = { message, from, to in
            if from == 0, to == 2, case .room(.batch(let batch)) = message { sent += batch.items.count }
            return message
        }
        for _ in 0..<100 {
            room.inject(.mesh(.held([.init(author: own, after: 0, milliseconds: 0)])), from: 2)
            room.run(for: .milliseconds(100))
        }
        #expect(sent < 6000, "\(sent)")
        room.say(.note("hello"), by: 0)
        room.run(for: .seconds(1))
        #expect(room.notes(1).contains("member 1: hello"))
        #expect(room.members[0].mesh.exchange.members.allSatisfy { $0.link.equals.holds.count <= 1 })
    }

    @Test func `Held authors are as they were sent`() throws {
        let held = MeshMessage.HeldAuthor(
            author: LogAuthor(device: .made(7), run: 0x0102), after: 3, milliseconds: 500)
        let bytes = SecureMessage.mesh(.held([held])).bytes
        #expect(
            bytes == [0x51, 1] + DeviceKey.made(7).bytes + [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 1, 0xF4])
        #expect(try SecureMessage(bytes) == .mesh(.held([held])))
        let many = [MeshMessage.HeldAuthor](repeating: held, count: 17)
        #expect(throws: SecureMessageError.self) { try SecureMessage(SecureMessage.mesh(.held(many)).bytes) }
    }
}
