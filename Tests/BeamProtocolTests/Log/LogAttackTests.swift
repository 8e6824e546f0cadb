import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Members that lie, and hosts that change what they pass on.
struct LogAttackTests {
    private func entered(_ seed: UInt64 = 1) -> (LogSimulation, liar: Int, other: Int) {
        var room = LogSimulation(seed: seed)
        let (liar, other) = (room.add(1), room.add(2))
        room.connect(liar)
        room.connect(other)
        room.run(for: .seconds(1))
        return (room, liar, other)
    }

    private func batch(
        _ room: LogSimulation, of number: UInt8, signedBy signer: UInt8? = nil, run: UInt64? = nil, first: UInt32 = 1,
        start: [UInt8]? = nil, kind: LogEntry.Kind = .note, texts: [String] = ["I am not who you think"]
    ) -> LogMessage {
        let (signing, device) = LogSigning.simulated(number)
        let run = run ?? Self.run(room, of: number)
        let author = LogAuthor(device: device, run: run)
        var digest =
            start
            ?? EntryChain.start(room.keeper.log.scope, author: author)
        var items: [LogMessage.Batch.Item] = []
        for text in texts {
            let entry = StoredEntry.whole(LogEntry(kind: kind, milliseconds: 1, body: Array(text.utf8)))
            digest = EntryChain.next(digest, entry)
            items.append(LogMessage.Batch.Item(section: 0, entry: entry))
        }
        let signer = LogSigning.simulated(signer ?? number).signing
        let signature = signer.sign(
            EntryChain.signed(
                digest, number: first &+ UInt32(texts.count) &- 1, of: author, in: room.keeper.log.scope))
        return .batch(
            LogMessage.Batch(
                sections: [
                    LogMessage.Batch.Section(
                        publicKey: signing.publicKey, run: run, first: first, startDigest: start,
                        signature: signature)
                ], items: items))
    }

    /// Of that guest's own log.
    private static func run(_ room: LogSimulation, of number: UInt8) -> UInt64 {
        room.guests.first { $0.number == number }?.room.own.run ?? 7
    }

    @Test(arguments: [(1, 2), (2, 1), (2, 2)] as [(UInt8, UInt8)])
    func nobodyWritesInAnotherMembersName(author: UInt8, signer: UInt8) {
        var (room, liar, _) = entered()
        room.inject(batch(room, of: author, signedBy: signer), from: liar)
        let reason = author == 1 ? "entries whose signature is wrong" : "entries of another author"
        #expect(room.violations.map(\.reason) == ["it sent \(reason)"])
        #expect(LogSimulation.notes(room.keeperEvents).isEmpty)
    }

    /// Another run would be another author, and there are 1,024 at most.
    @Test func aConnectionHasOneAuthor() {
        var (room, liar, _) = entered()
        let count = room.keeper.log.authors.count
        room.inject(batch(room, of: 1, run: 8), from: liar)
        #expect(room.violations.map(\.reason) == ["it sent entries of another author"])
        #expect(room.keeper.log.authors.count == count)
    }

    @Test func nobodyInventsAMember() {
        var (room, liar, _) = entered()
        room.inject(batch(room, of: 99), from: liar)
        #expect(room.violations.map(\.reason) == ["it sent entries of another author"])
    }

    /// A guest's captions and alerts aren't the host's; its later notes can still be checked.
    @Test func guestsWriteNotesAndMessagesOnly() {
        var (room, liar, other) = entered()
        let run = Self.run(room, of: 1)
        for kind in [LogEntry.Kind.caption, .alert, .shareEnded, .member] {
            let last = room.keeper.log.authors.first { $0.author.run == run }
            room.inject(
                batch(
                    room, of: 1, first: (last?.last ?? 0) + 1, start: last?.lastDigest, kind: kind,
                    texts: ["\u{1}\u{0}"]),
                from: liar)
        }
        let last = room.keeper.log.authors.first { $0.author.run == run }
        room.inject(batch(room, of: 1, first: 5, start: last?.lastDigest, texts: ["hello"]), from: liar)
        room.run(for: .seconds(1))
        // The simulated guest didn't send these itself, and wonders about their acknowledgements.
        #expect(room.violations.allSatisfy { $0.guest == nil })
        let lines = LogSimulation.lines(room.guests[other].events).filter { !$0.isKeepers }
        #expect(lines.map(\.content) == [.note("hello")])
    }

    @Test(arguments: [2, 4_000_000_000] as [UInt32]) func gapsAreRefused(first: UInt32) {
        var (room, liar, _) = entered()
        room.inject(batch(room, of: 1, first: first), from: liar)
        #expect(room.violations.count == 1)
    }

    /// An author may say that its beginning is gone. It stays at the end of the numbers, and nothing overflows.
    @Test func numbersDoNotOverflow() {
        var (room, liar, _) = entered()
        room.inject(
            batch(room, of: 1, first: .max, start: [UInt8](repeating: 0, count: 32), texts: ["a"]), from: liar)
        room.inject(
            batch(room, of: 1, first: .max - 1, start: [UInt8](repeating: 0, count: 32), texts: ["a", "b", "c"]),
            from: liar)
        room.run(for: .seconds(1))
        room.say(.note("still here"))
        room.run(for: .seconds(1))
        #expect(LogSimulation.notes(room.keeperEvents).contains("still here"))
    }

    @Test func whatBreaksTheRulesEndsTheConnection() {
        let authors = Dictionary(
            uniqueKeysWithValues: (0..<4).map { (LogAuthor(device: .made($0), run: 0), UInt32.max) })
        let greeting = LogMessage.Greeting(
            room: [UInt8](repeating: 1, count: 16), age: .max, run: .max, flags: [], completeSince: .max,
            unsettled: .max, has: authors)
        for message: LogMessage in [.greeting(greeting), .acknowledged(1000), .acknowledged(.max)] {
            var (room, liar, _) = entered()
            room.inject(message, from: liar)
            room.run(for: .seconds(1))
            #expect(room.violations.count == 1)
        }
    }

    @Test func entriesBeforeTheGreetingAreRefused() {
        var room = LogSimulation(seed: 1)
        let guest = room.add(1)
        room.connect(guest)
        room.inject(batch(room, of: 1), from: guest)
        #expect(room.violations.map(\.reason) == ["it didn't greet the room first"])
    }

    /// Whoever doesn't wait for acknowledgements is sent away before it has filled memory.
    @Test func theWindowIsEnforced() {
        var (room, liar, _) = entered()
        var number: UInt32 = 1
        while room.violations.isEmpty, number < 1000 {
            let log = room.keeper.log.authors.first { $0.author.run == Self.run(room, of: 1) }
            room.inject(
                batch(
                    room, of: 1, first: number, start: log?.lastDigest,
                    texts: [String(repeating: "x", count: 60 << 10)]), from: liar)
            number += 1
        }
        // At first they are acknowledged at once, as far as an author may write at once.
        #expect(number < 60)
        #expect(room.violations.first?.reason.contains("without waiting") == true)
    }

    /// A host can't change what it passes on: the other one's program notices.
    @Test func whoPassesOnCannotChangeAnything() {
        var (room, liar, other) = entered()
        let run = room.guests[liar].room.own.run
        room.tamper = { message, guest in
            guard guest == other, case .batch(var batch) = message else { return }
            for (place, item) in batch.items.enumerated() {
                guard batch.sections[Int(item.section)].run == run, case .whole(var entry) = item.entry else {
                    continue
                }
                entry.body = Array("I resign".utf8)
                batch.items[place].entry = .whole(entry)
            }
            message = .batch(batch)
        }
        room.say(.note("I agree"), guest: liar)
        room.run(for: .seconds(1))
        #expect(LogSimulation.notes(room.guests[other].events).isEmpty)
        #expect(room.violations.map(\.reason) == ["it sent entries whose signature is wrong"])
    }

    /// Times in the future are those of arrival, so that one member can't spoil everybody's transcript.
    @Test func wildTimesAreBounded() {
        var (room, liar, other) = entered()
        let (signing, device) = LogSigning.simulated(1)
        let run = Self.run(room, of: 1)
        let entry = StoredEntry.whole(LogEntry(kind: .note, milliseconds: .max, body: Array("late".utf8)))
        let (scope, author) = (room.keeper.log.scope, LogAuthor(device: device, run: run))
        let digest = EntryChain.next(EntryChain.start(scope, author: author), entry)
        room.inject(
            .batch(
                LogMessage.Batch(
                    sections: [
                        LogMessage.Batch.Section(
                            publicKey: signing.publicKey, run: run, first: 1, startDigest: nil,
                            signature: signing.sign(EntryChain.signed(digest, number: 1, of: author, in: scope)))
                    ], items: [LogMessage.Batch.Item(section: 0, entry: entry)])), from: liar)
        room.run(for: .seconds(1))
        let line = LogSimulation.lines(room.guests[other].events).last
        #expect(line?.content == .note("late"))
        #expect(line.map { $0.time <= .seconds(3) } == true)
    }

    /// A host signs partial captions of authors that it makes up: as many as it likes.
    @Test func authorsOfPartialCaptionsAreForgotten() throws {
        let room = entered().0
        var guest = room.guests[1].room
        let (signing, device) = LogSigning.simulated(99)
        for run in 1...1000 as ClosedRange<UInt64> {
            let partial = LogMessage.Partial(
                LogContent.caption(text: "\(run)", speaker: nil).body, after: 0, counter: 1, run: run,
                scope: guest.log.scope, signing: signing)
            guest.received(.partial(partial), from: ViewerSession.keeper, now: room.now)
        }
        #expect(guest.partials.newest.last?.author == LogAuthor(device: device, run: 1000))
        #expect(guest.members.map(\.link.partials.count) == [guest.partials.newest.count])
        #expect(guest.partials.newest.count == 16)
    }

    /// Garbage of any kind is refused by the parser, or harmless.
    @Test func mutatedMessagesDoNoHarm() throws {
        var random = SeededGenerator(seed: 3)
        var (room, liar, other) = entered()
        room.say(.note("a"), guest: other)
        room.run(for: .seconds(1))
        var samples = [batch(room, of: 1, texts: ["a", "b"])]
        samples.append(
            .greeting(
                LogMessage.Greeting(
                    room: room.keeper.log.room, age: 1, run: 1, flags: [], completeSince: 0, unsettled: 0,
                    has: room.keeper.log.has)))
        samples.append(.receipts([LogMessage.Receipt(number: 1, result: .left, count: 3)]))
        samples.append(.acknowledged(3))
        samples.append(
            .partial(
                LogMessage.Partial(
                    publicKey: [UInt8](repeating: 1, count: 65), run: 1, after: 2, counter: 3, body: [0, 0, 0x61],
                    signature: [UInt8](repeating: 0, count: 64))))
        for sample in samples {
            let bytes = SecureMessage.room(sample).bytes
            #expect(try SecureMessage(bytes) == .room(sample))
            for count in 1..<bytes.count where count % 7 == 0 || count < 80 {
                _ = try? SecureMessage(Array(bytes[..<count]))
            }
            for _ in 0..<500 {
                var changed = bytes
                for _ in 0...Int(random.next(upperBound: 4 as UInt64)) {
                    changed[1 + Int(random.next(upperBound: UInt64(changed.count - 1)))] = UInt8(
                        truncatingIfNeeded: random.next())
                }
                guard case .room(let message) = try? SecureMessage(changed) else { continue }
                room.inject(message, from: liar)
                if room.guests[liar].connection == nil {
                    room.connect(liar)
                    room.run(for: .milliseconds(100))
                }
            }
        }
        room.say(.note("still here"), guest: other)
        room.run(for: .seconds(2))
        #expect(LogSimulation.notes(room.keeperEvents).contains("still here"))
    }
}
