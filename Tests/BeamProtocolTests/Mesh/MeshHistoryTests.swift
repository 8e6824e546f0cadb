import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Members that pass on less than they have, and what newcomers are told of it.
struct MeshHistoryTests {
    /// The liar passes on only the last entry of each section, with the digest before it: nobody can tell that from a log
    /// whose beginning is gone.
    private func cut(_ batch: LogMessage.Batch) -> LogMessage.Batch {
        var batch = batch
        var counts = [Int](repeating: 0, count: batch.sections.count)
        for item in batch.items { counts[Int(item.section)] += 1 }
        var items: [LogMessage.Batch.Item] = []
        for item in batch.items {
            let place = Int(item.section)
            counts[place] -= 1
            guard counts[place] > 0 else {
                items.append(item)
                continue
            }
            batch.sections[place].startDigest = EntryChain.next(batch.sections[place].startDigest ?? [], item.entry)
            batch.sections[place].first += 1
        }
        batch.items = items
        return batch
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `Who passes on only the end of a log doesn't hide the rest`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(4)
        for number in 0..<90 {
            room.say(.note("\(number)"), by: number % 3)
            room.run(for: .milliseconds(10))
        }
        room.tamper = { message, from, _ in
            guard from == 3, case .room(.batch(let batch)) = message else { return message }
            return .room(.batch(self.cut(batch)))
        }
        let newcomer = room.add(5)
        try room.enter(newcomer, through: 3)
        room.run(for: .seconds(4))
        for author in 0..<3 {
            let notes = room.notes(newcomer).filter { $0.hasPrefix("member \(author + 1): ") }
            #expect(notes == (0..<30).map { "member \(author + 1): \($0 * 3 + author)" })
        }
        #expect(room.histories(newcomer) == [.zero])
        for index in 0..<5 {
            #expect(room.violators(index).isEmpty)
            #expect(room.logs(index) == room.logs(0) && room.histories(index) == [.zero])
        }
    }

    /// What is said meanwhile comes over several ways, and the liar's is the fastest.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `A gap in what is said now is filled before anything is dropped`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(4, settling: .seconds(4))
        room.tamper = { message, from, _ in
            guard from == 3, case .room(.batch(let batch)) = message else { return message }
            return .room(.batch(self.cut(batch)))
        }
        for number in 0..<90 {
            room.say(.note("\(number)"), by: number % 3)
            room.run(for: .milliseconds(Int64(room.random.next(upperBound: 40 as UInt64))))
        }
        room.run(for: .seconds(5))
        for index in 0..<4 {
            for author in 0..<3 {
                let notes = room.notes(index).filter { $0.hasPrefix("member \(author + 1): ") }
                #expect(notes == (0..<30).map { "member \(author + 1): \($0 * 3 + author)" })
            }
            #expect(room.logs(index) == room.logs(0) && room.violators(index).isEmpty)
        }
    }

    @Test func `What nobody else has is believed, and said to be incomplete`() throws {
        var room = MeshSimulation(seed: 2)
        try room.makeRoom(2)
        for number in 0..<30 { room.say(.note("\(number)"), by: 0) }
        room.run(for: .seconds(2))
        room.kill(0)
        room.run(for: .seconds(5))
        room.tamper = { message, from, _ in
            guard from == 1, case .room(.batch(let batch)) = message else { return message }
            return .room(.batch(self.cut(batch)))
        }
        let newcomer = room.add(5)
        try room.enter(newcomer, through: 1)
        room.run(for: .seconds(1))
        #expect(room.histories(newcomer).isEmpty)
        room.run(for: .seconds(8))
        #expect(room.notes(newcomer).last == "member 1: 29")
        #expect(room.histories(newcomer).last.map { $0 > .zero } == true)
        #expect(room.violators(newcomer).isEmpty)
    }

    /// The newcomer meets only the liar, for so long that it believes it; then somebody comes who has everything.
    @Test(arguments: [true, false])
    func `What was hidden is asked for again when somebody comes who has it`(isLate: Bool) throws {
        var room = MeshSimulation(seed: 11)
        try room.makeRoom(3)
        for number in 0..<90 {
            room.say(.note("\(number)"), by: number % 2)
            room.run(for: .milliseconds(10))
        }
        let newcomer = room.add(5)
        for index in 0..<2 { room.block(index, newcomer) }
        // Either from the beginning on, or of what is said now.
        let hide: @Sendable (SecureMessage, Int, Int) -> SecureMessage? = { message, from, to in
            guard from == 2, to == newcomer, case .room(.batch(let batch)) = message else { return message }
            return .room(.batch(self.cut(batch)))
        }
        if !isLate { room.tamper = hide }
        try room.enter(newcomer, through: 2)
        room.run(for: .seconds(3))
        room.tamper = hide
        for number in 90..<110 { room.say(.note("\(number)"), by: number % 2) }
        room.run(for: .seconds(10))
        #expect(room.notes(newcomer).contains("member 1: 108"))
        #expect(room.notes(newcomer).count < 110)
        room.heal()
        room.run(for: .seconds(20))
        for author in 0..<2 {
            let notes = room.notes(newcomer).filter { $0.hasPrefix("member \(author + 1): ") }
            #expect(Set(notes) == Set((0..<55).map { "member \(author + 1): \($0 * 2 + author)" }))
            #expect(notes.count == 55)
        }
        // It has them as everybody else, and passes them on.
        #expect(room.logs(newcomer) == room.logs(0))
        for index in 0..<2 { room.kill(index) }
        let last = room.add(6)
        try room.enter(last, through: newcomer)
        room.run(for: .seconds(10))
        #expect(room.notes(last).count == 110)
        for index in [2, newcomer, last] { #expect(room.violators(index).isEmpty) }
    }

    @Test func `A member that says to have what nobody has holds nobody up for long`() throws {
        var room = MeshSimulation(seed: 3)
        room.lossOneIn = 0
        try room.makeRoom(3)
        let own = room.members[0].mesh.own
        room.say(.note("a"), by: 0)
        room.run(for: .seconds(1))
        room.tamper = { message, from, _ in
            guard from == 2, case .mesh(.greeting(var greeting)) = message else { return message }
            greeting.has[own]?.last = 5000
            greeting.has[LogAuthor(device: .made(3), run: 9)] = .init(first: 1, last: 70_000, digest: 0)
            return .mesh(.greeting(greeting))
        }
        let newcomer = room.add(5)
        try room.enter(newcomer, through: 2)
        room.run(for: .seconds(2))
        #expect(room.notes(newcomer) == ["member 1: a"])
        #expect(room.histories(newcomer).isEmpty)
        room.run(for: .seconds(4))
        #expect(room.histories(newcomer).last.map { $0 > .zero } == true)
    }

    @Test func `Digests in place of entries are refused`() throws {
        var room = MeshSimulation(seed: 4)
        try room.makeRoom(4)
        room.block(0, 2)
        room.run(for: .seconds(4))
        room.tamper = { message, from, to in
            guard from == 1, to == 2, case .room(.batch(var batch)) = message else { return message }
            batch.items = batch.items.map { .init(section: $0.section, entry: .redacted(digest: $0.entry.digest)) }
            return .room(.batch(batch))
        }
        for number in 0..<20 {
            room.say(.note("\(number)"), by: 0)
            room.run(for: .milliseconds(50))
        }
        room.run(for: .seconds(2))
        #expect(room.violators(2) == [2])
        #expect(room.notes(2).filter { $0.hasPrefix("member 1") } == (0..<20).map { "member 1: \($0)" })
    }

    @Test func `A founder has everything, and a newcomer learns when it has`() throws {
        var room = MeshSimulation(seed: 5)
        try room.makeRoom(3, settling: .seconds(4))
        #expect(room.histories(0) == [.zero])
        for index in 1..<3 { #expect(room.histories(index) == [.zero]) }
        // A program that starts again gets it from the others.
        room.say(.note("a"), by: 2)
        room.run(for: .seconds(1))
        room.restart(2)
        #expect(room.histories(2).isEmpty)
        room.run(for: .seconds(4))
        #expect(room.histories(2) == [.zero])
    }

    @Test func `A plain message for another member isn't handed on`() throws {
        var room = MeshSimulation(seed: 6)
        try room.makeRoom(3)
        room.deafen(2)
        var writer = MeshWriter(3, run: 77, room: room.room)
        var batch = writer.notes([])
        for recipient in [DeviceKey.made(1), .made(2)] {
            writer = MeshWriter(3, run: recipient == .made(1) ? 77 : 78, room: room.room)
            batch = writer.notes(["x"])
            let body = LogContent.message(id: "\(recipient == .made(1) ? 1 : 2)", json: [0x31]).body
            let entry = StoredEntry.whole(
                LogEntry(kind: .message, milliseconds: 1, recipient: recipient, body: body))
            batch.items[0].entry = entry
            let digest = EntryChain.next(batch.sections[0].startDigest ?? [], entry)
            batch.sections[0].signature = writer.signing.sign(
                EntryChain.signed(digest, number: 1, of: writer.author, in: writer.scope))
            room.inject(.room(.batch(batch)), from: 2)
        }
        room.run(for: .seconds(1))
        #expect(room.messages(0) == ["1"])
        #expect(room.messages(1) == ["2"])
        #expect(room.violators(0).isEmpty && room.violators(1).isEmpty)
    }
}
