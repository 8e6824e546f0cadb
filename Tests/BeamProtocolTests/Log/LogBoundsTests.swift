import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What members can make a room hold, send and compute.
struct LogBoundsTests {
    private static let start = MediaTime.at(1)

    private func keeper(seed: UInt64 = 1) -> LogExchange {
        let (signing, device) = LogSigning.simulated(LogSimulation.keeperNumber)
        var keeper = LogExchange(
            LogExchange.Configuration(role: .keeper, own: device, name: "desk", signing: signing),
            random: SeededGenerator(seed: seed))
        keeper.shareChanged(true, now: Self.start)
        return keeper
    }

    private func guest(_ number: UInt8 = 1, seed: UInt64 = 9) -> LogExchange {
        let (signing, device) = LogSigning.simulated(number)
        return LogExchange(
            LogExchange.Configuration(role: .guest, own: device, name: "viewer", signing: signing),
            random: SeededGenerator(seed: seed))
    }

    private func greeting(_ keeper: LogExchange, run: UInt64 = 1, has: [LogAuthor: UInt32] = [:]) -> LogMessage {
        .greeting(
            LogMessage.Greeting(
                room: keeper.log.room, age: 0, run: run, flags: [.takesNotes], completeSince: 0, unsettled: 0, has: has)
        )
    }

    private func drain(_ room: inout LogExchange, now: MediaTime) -> [LogExchange.Output] {
        room.settle(now: now)
        var outputs: [LogExchange.Output] = []
        while let output = room.pollOutput() { outputs.append(output) }
        return outputs
    }

    private func events(_ outputs: [LogExchange.Output]) -> [LogEvent] {
        outputs.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    private func violations(_ outputs: [LogExchange.Output]) -> [String] {
        outputs.compactMap { if case .violation(_, let reason) = $0 { reason } else { nil } }
    }

    private func batch(_ keeper: LogExchange, run: UInt64, from first: UInt32, texts: [String]) -> LogMessage {
        let (signing, device) = LogSigning.simulated(1)
        let author = LogAuthor(device: device, run: run)
        var digest =
            keeper.log.index(of: author).map { keeper.log.authors[$0].lastDigest }
            ?? EntryChain.start(keeper.log.scope, author: author)
        let items = texts.map { text in
            let entry = StoredEntry.whole(LogEntry(kind: .note, milliseconds: 1, body: Array(text.utf8)))
            digest = EntryChain.next(digest, entry)
            return LogMessage.Batch.Item(section: 0, entry: entry)
        }
        let signature = signing.sign(
            EntryChain.signed(digest, number: first + UInt32(texts.count) - 1, of: author, in: keeper.log.scope))
        let section = LogMessage.Batch.Section(
            publicKey: signing.publicKey, run: run, first: first, startDigest: nil, signature: signature)
        return .batch(LogMessage.Batch(sections: [section], items: items))
    }

    // MARK: Authors and names

    /// A section without entries would cost the receiver a signature, and name an author, for nothing.
    @Test func sectionsWithoutEntriesAreRefused() throws {
        let keeper = keeper()
        guard case .batch(var batch) = batch(keeper, run: 1, from: 1, texts: ["a"]) else { return }
        #expect(try SecureMessage(SecureMessage.room(.batch(batch)).bytes) == .room(.batch(batch)))
        batch.sections.append(batch.sections[0])
        batch.sections[1].run = 2
        #expect(throws: SecureMessageError.self) { try SecureMessage(SecureMessage.room(.batch(batch)).bytes) }
    }

    /// Somebody whose program is started 1,500 times writes in each run: others can still write, and nothing but his own
    /// oldest words is lost.
    @Test func whoRestartsAgainAndAgainLosesHisOwnWordsOnly() {
        var keeper = keeper()
        var now = Self.start
        keeper.handle(.caption(text: "the beginning", speaker: nil), now: now)
        keeper.joined(LogMemberID(0), device: .made(2), name: "other", now: now)
        var outputs: [LogExchange.Output] = []
        for number in 1...1500 as ClosedRange<UInt64> {
            now = now + .seconds(1)
            let id = LogMemberID(number)
            keeper.joined(id, device: .made(1), name: "viewer", now: now)
            keeper.connected(id, now: now)
            keeper.received(greeting(keeper, run: number), from: id, now: now)
            keeper.received(batch(keeper, run: number, from: 1, texts: ["\(number)"]), from: id, now: now)
            keeper.left(id, now: now)
            while let output = keeper.pollOutput() { outputs.append(output) }
        }
        #expect(violations(outputs).isEmpty)
        #expect(LogSimulation.notes(events(outputs)).count == 1500)
        #expect(keeper.log.authors.count == LogLimits.authors)
        #expect(keeper.log.completeSince > .zero)
        // What is left, as a late guest reads it.
        var guest = guest(3)
        guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: now)
        guest.received(greeting(keeper, run: keeper.own.run), from: ViewerSession.keeper, now: now)
        var position = 0
        var has: [LogAuthor: UInt32] = [:]
        while position < keeper.log.end {
            let found = keeper.log.batch(from: position, has: has) { _, _, _ in true }
            position = found.next
            guard let outgoing = found.outgoing else { break }
            for (author, number) in outgoing.newest { has[author] = number }
            #expect(outgoing.batch.sections.count <= LogLimits.batchAuthors)
            guest.received(.batch(outgoing.batch), from: ViewerSession.keeper, now: now)
        }
        let read = drain(&guest, now: now)
        #expect(violations(read).isEmpty)
        let notes = LogSimulation.notes(events(read))
        #expect(notes.count == LogLimits.authors - 1 && notes.last == "1500")
        #expect(
            LogSimulation.lines(events(read)).contains { $0.content == .caption(text: "the beginning", speaker: nil) })
    }

    /// A member that greets again and again, each time as another run, is there only once: its logs give way to others'.
    @Test func aMemberThatIsAlwaysAnotherRunTakesNobodysPlace() {
        var keeper = keeper()
        var now = Self.start
        let liar = LogMemberID(1)
        keeper.joined(liar, device: .made(1), name: "liar", now: now)
        var outputs: [LogExchange.Output] = []
        for run in 1...UInt64(LogLimits.authors) + 100 {
            now = now + .seconds(1)
            keeper.connected(liar, now: now)
            keeper.received(greeting(keeper, run: run), from: liar, now: now)
            keeper.received(batch(keeper, run: run, from: 1, texts: ["\(run)"]), from: liar, now: now)
            keeper.disconnected(liar)
            while let output = keeper.pollOutput() { outputs.append(output) }
        }
        #expect(violations(outputs).isEmpty)
        #expect(keeper.log.presentAuthors.count == 2 && keeper.log.authors.count == LogLimits.authors)
    }

    /// As many members as a host admits write, and each is there: one more author is refused, and everybody else goes on.
    @Test func aRoomThatIsFullOfPresentAuthorsRefusesOneMore() {
        var keeper = keeper()
        // Of this device in other runs; the keeper is an author, too.
        for run in 2...UInt64(LogLimits.authors) {
            let id = LogMemberID(run)
            keeper.joined(id, device: .made(1), name: "viewer", now: Self.start)
            keeper.connected(id, now: Self.start)
            keeper.received(greeting(keeper, run: run), from: id, now: Self.start)
            keeper.received(batch(keeper, run: run, from: 1, texts: ["a"]), from: id, now: Self.start)
        }
        var outputs = drain(&keeper, now: Self.start)
        #expect(violations(outputs).isEmpty && keeper.log.authors.count == LogLimits.authors)
        #expect(keeper.log.presentAuthors.count == LogLimits.authors)
        let late = LogMemberID(5000)
        keeper.joined(late, device: .made(1), name: "viewer", now: Self.start)
        keeper.connected(late, now: Self.start)
        keeper.received(greeting(keeper, run: 1), from: late, now: Self.start)
        keeper.received(batch(keeper, run: 1, from: 1, texts: ["one too many"]), from: late, now: Self.start)
        outputs = drain(&keeper, now: Self.start)
        #expect(violations(outputs) == ["it sent entries of more than \(LogLimits.authors) authors"])
        keeper.left(late, now: Self.start)
        keeper.received(batch(keeper, run: 2, from: 2, texts: ["still here"]), from: LogMemberID(2), now: Self.start)
        keeper.handle(.note("so am I"), now: Self.start)
        outputs = drain(&keeper, now: Self.start)
        #expect(LogSimulation.notes(events(outputs)) == ["still here", "so am I"])
        // Somebody leaves, and there is a place again.
        keeper.left(LogMemberID(3), now: Self.start)
        keeper.joined(late, device: .made(1), name: "viewer", now: Self.start)
        keeper.connected(late, now: Self.start)
        keeper.received(greeting(keeper, run: 1), from: late, now: Self.start)
        keeper.received(batch(keeper, run: 1, from: 1, texts: ["here at last"]), from: late, now: Self.start)
        outputs = drain(&keeper, now: Self.start)
        #expect(violations(outputs).isEmpty && LogSimulation.notes(events(outputs)) == ["here at last"])
    }

    /// What a guest writes to a room that has no place for it is answered, each once, and nothing of it is kept.
    @Test func whatAFullRoomCannotTakeIsAnswered() {
        var guest = guest()
        let keeper = keeper()
        guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
        guest.received(greeting(keeper), from: ViewerSession.keeper, now: Self.start)
        for run in 1...UInt64(LogLimits.authors) {
            let author = LogAuthor(device: .made(7), run: run)
            guest.log.presentAuthors.insert(author)
            _ = guest.log.append(LogEntry(kind: .note, milliseconds: 1, body: [0x61]), by: author, age: .zero)
        }
        _ = drain(&guest, now: Self.start)
        let count = guest.log.count
        guest.handle(.note("a note"), now: Self.start)
        guest.handle(.message(id: "m", json: [0x31], to: .all), now: Self.start)
        let outputs = drain(&guest, now: Self.start)
        #expect(
            events(outputs)
                == [.unwritten(.note("a note"), reason: .full), .undelivered(id: "m", reason: .full)])
        #expect(guest.log.count == count && guest.unsettled.isEmpty)
        #expect(!outputs.contains { if case .send(_, .batch) = $0 { true } else { false } })
    }

    /// The keeper takes nothing for a long time: what a guest writes meanwhile is bounded, and the rest is answered.
    @Test(arguments: [true, false]) func whatWaitsForAKeeperIsBounded(isInRoom: Bool) {
        var guest = guest()
        if isInRoom {
            guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
            guest.received(greeting(keeper()), from: ViewerSession.keeper, now: Self.start)
        }
        for number in 0..<LogLimits.unsentEntries {
            guest.handle(.message(id: "\(number)", json: [0x31], to: .all), now: Self.start)
        }
        #expect(LogSimulation.undelivered(events(drain(&guest, now: Self.start))).isEmpty)
        guest.handle(.message(id: "one", json: [0x31], to: .all), now: Self.start)
        guest.handle(.note("too many"), now: Self.start)
        let outputs = events(drain(&guest, now: Self.start))
        #expect(LogSimulation.undelivered(outputs) == ["one": .full])
        #expect(outputs.contains(.unwritten(.note("too many"), reason: .full)))
    }

    @Test func changingNamesFillNothing() {
        var keeper = keeper()
        let before = keeper.log.count
        for number in 0..<1000 as Range<UInt64> {
            keeper.joined(LogMemberID(number), device: .made(1), name: "name \(number)", now: Self.start)
            keeper.left(LogMemberID(number), now: Self.start)
        }
        #expect(keeper.log.count - before == 1 + LogLimits.renamings)
    }

    // MARK: Rates and waiting

    /// A new connection doesn't allow another burst.
    @Test func connectingAnewDoesNotRefillTheRate() {
        var keeper = keeper()
        var now = Self.start
        var written: UInt32 = 0
        for number in 0..<100 as Range<UInt64> {
            let id = LogMemberID(number)
            keeper.joined(id, device: .made(1), name: "viewer", now: now)
            keeper.connected(id, now: now)
            keeper.received(greeting(keeper, run: 5), from: id, now: now)
            // As many as come before the first delay.
            var isTaken = true
            while isTaken, written < 200_000 {
                keeper.received(
                    batch(keeper, run: 5, from: written + 1, texts: (0..<50).map { "\($0)" }), from: id, now: now)
                now = now + .milliseconds(1)
                isTaken = drain(&keeper, now: now).contains {
                    if case .send(_, .acknowledged) = $0 { true } else { false }
                }
                written += 50
                now = now + .milliseconds(30)
            }
            keeper.left(id, now: now)
        }
        let seconds = (now - Self.start).inSeconds
        // Each connection sends one batch more than is acknowledged.
        #expect(Double(written) <= 1000 + 200 * seconds + 100 * 50 + 50)
    }

    /// Whoever confirms nothing is sent away after half a minute, and what was for him only is settled.
    @Test func whoConfirmsNothingIsSentAway() {
        var keeper = keeper()
        let id = LogMemberID(1)
        keeper.joined(id, device: .made(1), name: "viewer", now: Self.start)
        keeper.connected(id, now: Self.start)
        keeper.received(greeting(keeper), from: id, now: Self.start)
        var outputs = drain(&keeper, now: Self.start)
        // Also if nothing else happens.
        #expect(keeper.deadline == Self.start + LogLimits.patience)
        var now = Self.start
        for number in 0..<2000 {
            keeper.handle(.message(id: "\(number)", json: [0x31], to: .all), now: now)
            outputs += drain(&keeper, now: now)
            now = now + .milliseconds(10)
        }
        // No more than this waits for one member.
        #expect(LogSimulation.undelivered(events(outputs)).count == 2000 - LogLimits.openMessages)
        #expect(violations(outputs).isEmpty)
        #expect(keeper.deadline <= Self.start + LogLimits.patience + .seconds(1))
        outputs = drain(&keeper, now: Self.start + LogLimits.patience + .seconds(1))
        #expect(violations(outputs) == ["it doesn't confirm what it is sent"])
        keeper.left(id, now: now)
        outputs = drain(&keeper, now: now)
        #expect(LogSimulation.undelivered(events(outputs)).count == LogLimits.openMessages)
    }

    /// Only a host slows others, and says so once.
    @Test func aViewerCannotSayThatTheHostIsSlowed() {
        var (keeper, guest) = (keeper(), guest())
        keeper.joined(LogMemberID(1), device: .made(1), name: "viewer", now: Self.start)
        keeper.connected(LogMemberID(1), now: Self.start)
        keeper.received(greeting(keeper), from: LogMemberID(1), now: Self.start)
        keeper.received(.slowed(true), from: LogMemberID(1), now: Self.start)
        #expect(!events(drain(&keeper, now: Self.start)).contains(.slowed(true)))
        guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
        guest.received(greeting(keeper), from: ViewerSession.keeper, now: Self.start)
        for _ in 0..<10 { guest.received(.slowed(true), from: ViewerSession.keeper, now: Self.start) }
        #expect(events(drain(&guest, now: Self.start)).count { $0 == .slowed(true) } == 1)
    }

    /// A viewer that comes back after 100,000 entries, and has them all, costs one walk through their places.
    @Test func comingBackAfterALongSessionIsCheap() {
        let (signing, device) = LogSigning.simulated(1)
        var log = LogStore(room: [UInt8](repeating: 1, count: 16), signing: signing)
        for number in 0..<LogLimits.entries {
            let author = LogAuthor(device: device, run: UInt64(number % 50))
            _ = log.append(LogEntry(kind: .note, milliseconds: 1, body: [0x61]), by: author, age: .seconds(1))
        }
        let has = log.has
        let clock = ContinuousClock()
        let took = clock.measure {
            let found = log.batch(from: 0, has: has) { _, _, _ in true }
            #expect(found.outgoing == nil && found.next == log.end)
        }
        // Figures of unoptimised code aren't typical.
        print("a walk through 100,000 entries took \(took)")
        #expect(took < .seconds(10))
    }

    // MARK: Times

    /// An entry with a time in the far future that is dropped again doesn't make the whole log incomplete.
    @Test func wildTimesOfDroppedEntriesAreBounded() throws {
        let (signing, device) = LogSigning.simulated(1)
        var log = LogStore(room: [UInt8](repeating: 1, count: 16), signing: signing)
        let author = LogAuthor(device: device, run: 1)
        var wild = LogEntry(kind: .note, milliseconds: .max, body: [])
        _ = log.append(wild, by: author, age: .seconds(5))
        wild.milliseconds = 6000
        for _ in 0..<LogLimits.entries { _ = log.append(wild, by: author, age: .seconds(6)) }
        #expect(log.completeSince == .seconds(5))
    }

    // MARK: Another host

    /// What was written for one host isn't sent to another one, not even to one that shows the same room's ID.
    @Test(arguments: [true, false]) func wordsForOneHostAreNotSentToAnother(hasSameRoom: Bool) {
        var guest = guest()
        let first = keeper(seed: 1)
        guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
        guest.received(greeting(first), from: ViewerSession.keeper, now: Self.start)
        _ = drain(&guest, now: Self.start)
        guest.disconnected(ViewerSession.keeper)
        guest.handle(.note("for the desk only"), now: Self.start)
        guest.handle(.message(id: "m", json: [0x31], to: .all), now: Self.start)
        let second = hasSameRoom ? first : keeper(seed: 2)
        guest.metKeeper(ViewerSession.keeper, device: .made(201), name: "another", now: Self.start)
        guest.received(greeting(second), from: ViewerSession.keeper, now: Self.start)
        let outputs = drain(&guest, now: Self.start)
        #expect(events(outputs).contains(.unwritten(.note("for the desk only"), reason: .otherHost)))
        #expect(events(outputs).contains(.undelivered(id: "m", reason: .otherHost)))
        #expect(!outputs.contains { if case .send(_, .batch) = $0 { true } else { false } })
        guest.handle(.note("for the other"), now: Self.start)
        let later = drain(&guest, now: Self.start + .seconds(1))
        #expect(later.contains { if case .send(_, .batch) = $0 { true } else { false } })
    }

    /// A host that was started again gets what it hadn't confirmed. A message that wasn't sent in the room before is
    /// sent, however many were sent there.
    @Test func aRestartedHostGetsWhatItLacks() {
        var guest = guest()
        guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
        guest.received(greeting(keeper(seed: 1)), from: ViewerSession.keeper, now: Self.start)
        for number in 0..<10 { guest.handle(.message(id: "\(number)", json: [0x31], to: .all), now: Self.start) }
        _ = drain(&guest, now: Self.start)
        for seed in 2...3 as ClosedRange<UInt64> {
            guest.disconnected(ViewerSession.keeper)
            if seed == 3 { guest.handle(.message(id: "late", json: [0x31], to: .all), now: Self.start) }
            guest.metKeeper(ViewerSession.keeper, device: .made(200), name: "desk", now: Self.start)
            guest.received(greeting(keeper(seed: seed)), from: ViewerSession.keeper, now: Self.start)
        }
        let outputs = drain(&guest, now: Self.start)
        #expect(LogSimulation.undelivered(events(outputs))["late"] == nil)
        #expect(outputs.contains { if case .send(_, .batch) = $0 { true } else { false } })
    }
}
