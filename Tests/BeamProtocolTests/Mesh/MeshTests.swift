import BeamMedia
import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A room of equals in virtual time.
struct MeshTests {
    private func everybody(_ count: Int) -> Set<UInt8> { Set((1...count).map { UInt8($0) }) }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `Eight know one another within 3 s, each pair by one link`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(8, settling: .seconds(3))
        for index in 0..<8 { #expect(room.present(index) == everybody(8)) }
        #expect(Set(room.openPairs).count == 28)
        #expect(room.openPairs.count == 28)
        #expect(room.members.allSatisfy { $0.events.contains(.entered(room: "study")) })
    }

    /// The middle one of three gets back an old word from its neighbour, while it has a newer one that the neighbour lacks.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `Who sends back an old word gets the newer ones all the same`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(3)
        room.lossOneIn = 0
        room.block(0, 2)
        room.run(for: .seconds(5))
        room.say(.note("1"), by: 0)
        room.run(for: .seconds(1))
        #expect(room.notes(2) == ["member 1: 1"])
        // What it has just written itself makes the next words wait for a moment.
        room.say(.note("own"), by: 1)
        room.say(.note("2"), by: 0)
        while room.notes(1).count < 3 { room.run(for: .microseconds(100)) }
        // As if it had got the old word from somebody else.
        room.act(2) { (mesh, _) in
            for index in mesh.links.indices {
                mesh.exchange.members[index].link.sent = [:]
                mesh.exchange.members[index].link.cursor = mesh.log.start
            }
        }
        room.run(for: .seconds(3))
        #expect(Set(room.notes(2)) == ["member 1: 1", "member 1: 2", "member 2: own"])
    }

    /// Among equals anybody may say that another one speaks.
    @Test func aSpeakerIsShownWithTheMemberWhoSaysIt() throws {
        var room = MeshSimulation(seed: 1)
        try room.makeRoom(2)
        room.say(.caption(text: "I agree", speaker: "member 2"), by: 0)
        room.run(for: .seconds(1))
        let voices = room.members[1].events.flatMap { event -> [String] in
            if case .log(.lines(let lines)) = event { lines.compactMap { $0.transcriptLine?.voice } } else { [] }
        }
        #expect(voices == ["member 1: “member 2” says"])
    }

    /// How many are here by what was told last.
    private func toldHere(_ index: Int, _ room: MeshSimulation) -> Int? {
        for case .people(let people) in room.members[index].events.reversed() { return people.count(where: \.isHere) }
        return nil
    }

    /// `BEAMROOM_SEEDS=1000` runs more than the suite has time for.
    private static let seeds = 1...(ProcessInfo.processInfo.environment["BEAMROOM_SEEDS"].flatMap { UInt64($0) } ?? 40)

    @Test(arguments: seeds)
    func `Every word arrives once and in order, across a split, in every log alike`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(3 + Int(seed % 6))
        let count = room.members.count
        // One link of the mesh is missing.
        if count > 3, seed % 3 == 0 { room.block(0, count - 1) }
        var written: [Int: Int] = [:]
        func write(_ words: Int, _ room: inout MeshSimulation) {
            for _ in 0..<words {
                let author = Int(room.random.next(upperBound: UInt64(count)))
                written[author, default: 0] += 1
                room.say(.note("\(written[author] ?? 0)"), by: author)
                room.run(for: .milliseconds(Int64(room.random.next(upperBound: 60 as UInt64))))
            }
        }
        write(10, &room)
        room.split(at: 1 + Int(room.random.next(upperBound: UInt64(count - 1))))
        write(10, &room)
        room.run(for: .seconds(10))
        room.heal()
        if count > 3, seed % 3 == 0 { room.block(0, count - 1) }
        room.run(for: .seconds(4))
        for index in 0..<count {
            #expect(room.logs(index) == room.logs(0))
            #expect(room.present(index).count == count)
            let notes = room.notes(index)
            for author in 0..<count {
                let own = notes.filter { $0.hasPrefix("member \(author + 1): ") }
                #expect(own == (0..<(written[author] ?? 0)).map { "member \(author + 1): \($0 + 1)" })
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `Those who die, freeze and come back are here or not, everywhere within 5 s`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(6)
        room.kill(2)
        room.members[4].isFrozen = true
        room.run(for: .seconds(5))
        for index in [0, 1, 3, 5] { #expect(room.present(index) == [1, 2, 4, 6]) }
        room.restart(2)
        room.members[4].isFrozen = false
        room.run(for: .seconds(5))
        for index in 0..<6 { #expect(room.present(index) == everybody(6)) }
        #expect(Set(room.openPairs).count == room.openPairs.count)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `Nobody leaves whose link is replaced, and who is lost is gone a moment later`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(2)
        let seen = room.members.map(\.events.count)
        for caller in [0, 1] {
            room.attach(caller, to: 1 - caller)
            room.run(for: .seconds(1))
        }
        for index in 0..<2 {
            let wasHere = room.members[index].events.dropFirst(seen[index]).compactMap { event -> Bool? in
                guard case .people(let people) = event else { return nil }
                return people.allSatisfy(\.isHere)
            }
            #expect(!wasHere.contains(false), "\(wasHere)")
            #expect(room.present(index) == everybody(2))
        }
        room.kill(1)
        room.run(for: .milliseconds(700))
        #expect(toldHere(0, room) == 2)
        room.run(for: .milliseconds(400))
        #expect(toldHere(0, room) == 1)
    }

    @Test func `With one link of the mesh missing nothing differs but the hops`() throws {
        var room = MeshSimulation(seed: 7)
        try room.makeRoom(4)
        room.block(0, 3)
        room.run(for: .seconds(5))
        #expect(room.present(0) == everybody(4))
        let person = room.members[0].mesh.people.first { $0.device == .made(4) }
        #expect(person?.hops == 2)
        #expect(room.members[0].mesh.relays(to: .made(4)).count == 2)
        room.say(.message(id: "m", json: [UInt8](#"{"a":1}"#.utf8), to: .named("member 4")), by: 0)
        room.run(for: .seconds(2))
        #expect(room.messages(3) == ["m"])
        #expect(room.messages(1).isEmpty && room.messages(2).isEmpty)
        #expect(room.delivered(0) == ["m"])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `Messages between programs have a result each`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(5)
        for number in 0..<50 {
            let to: LogInput.Recipient = number % 2 == 0 ? .all : .named("member \(2 + number % 4)")
            room.say(.message(id: "\(number)", json: [0x31], to: to), by: 0)
            if number == 25 { room.kill(4) }
            room.run(for: .milliseconds(20))
        }
        room.run(for: .seconds(6))
        let results = room.members[0].events.compactMap { event -> String? in
            switch event {
            case .log(.delivered(let id, _)), .log(.undelivered(let id, _)): id
            default: nil
            }
        }
        #expect(Set(results) == Set((0..<50).map(String.init)))
        #expect(results.count == 50)
        for index in 1..<4 {
            let expected = (0..<50).filter { $0 % 2 == 0 || 1 + $0 % 4 == index }.map(String.init)
            #expect(room.messages(index) == expected)
        }
    }

    @Test func `What is just being said reaches those behind others, and ends`() throws {
        var room = MeshSimulation(seed: 3)
        try room.makeRoom(3)
        room.block(0, 2)
        room.run(for: .seconds(4))
        room.say(.partial(text: "we beg", speaker: nil), by: 0)
        room.run(for: .milliseconds(500))
        room.say(.caption(text: "we begin", speaker: nil), by: 0)
        room.run(for: .milliseconds(500))
        let said = room.members[2].events.compactMap { event -> String? in
            switch event {
            case .log(.partial(_, _, let words)): words?.text ?? "end"
            case .log(.lines(let lines)):
                lines.compactMap { if case .caption(let text, _) = $0.content { text } else { nil } }.first
            default: nil
            }
        }
        #expect(said == ["we beg", "end", "we begin"])
    }

    @Test func `The ninth hears that it is full`() throws {
        var room = MeshSimulation(seed: 1)
        try room.makeRoom(8)
        room.add(9)
        #expect(throws: MeshRefusal.full) { try room.enter(8, through: 3) }
        room.kill(5)
        room.run(for: .seconds(4))
        try room.enter(8, through: 3)
        room.run(for: .seconds(3))
        #expect(room.present(0) == [1, 2, 3, 4, 5, 7, 8, 9])
        // Who was away finds its place taken.
        room.restart(5)
        room.run(for: .seconds(5))
        #expect(room.present(0) == [1, 2, 3, 4, 5, 7, 8, 9])
        #expect(room.members[0].refusals.contains(.full))
    }

    @Test func `Of more than eight that come together after a split the last ones leave`() throws {
        var room = MeshSimulation(seed: 11)
        try room.makeRoom(6, byFounder: true)
        room.split(at: 3)
        room.run(for: .seconds(5))
        for number in 7...9 {
            room.add(UInt8(number))
            for other in 3..<room.members.count - 1 { room.block(other, room.members.count - 1) }
            try room.enter(room.members.count - 1, through: 0)
            room.run(for: .seconds(1))
        }
        room.heal()
        room.run(for: .seconds(5))
        let full = room.members.filter { $0.events.contains(.full) }.map(\.number)
        #expect(full == [9])
        for index in 0..<8 { #expect(room.present(index) == everybody(8)) }
    }

    @Test func `Sharing is known to everybody, and ends with who dies`() throws {
        var room = MeshSimulation(seed: 5)
        try room.makeRoom(4)
        room.act(1) { $0.setSharing(true, now: $1) }
        room.run(for: .seconds(1))
        func sharers(_ index: Int) -> [DeviceKey] {
            room.members[index].mesh.people.filter(\.isSharing).map(\.device)
        }
        for index in 0..<4 { #expect(sharers(index) == [.made(2)]) }
        room.kill(1)
        room.run(for: .seconds(4))
        #expect(sharers(0).isEmpty && sharers(3).isEmpty)
    }

    @Test func `Who leaves is gone at once`() throws {
        var room = MeshSimulation(seed: 2)
        room.lossOneIn = 0
        try room.makeRoom(4)
        room.say(.note("bye"), by: 3)
        room.act(3) { $0.leave(now: $1) }
        room.run(for: .milliseconds(200))
        for index in 0..<3 {
            #expect(room.present(index) == [1, 2, 3])
            #expect(room.notes(index).contains("member 4: bye"))
        }
    }
}
