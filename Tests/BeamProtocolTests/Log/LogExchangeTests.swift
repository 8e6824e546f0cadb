import BeamMedia
import Crypto
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A room of a host and its viewers, in virtual time.
struct LogExchangeTests {
    private typealias Simulation = LogSimulation

    @Test func whoComesLateReadsFromTheBeginning() {
        var room = LogSimulation(seed: 1)
        for number in 1...2000 { room.say(.caption(text: "line \(number)", speaker: nil)) }
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        let texts = LogSimulation.lines(room.guests[guest].events).compactMap {
            if case .caption(let text, _) = $0.content { text } else { nil }
        }
        #expect(texts == (1...2000).map { "line \($0)" })
        #expect(LogSimulation.logs(room.keeper) == LogSimulation.logs(room.guests[guest].room))
    }

    /// The keeper's captions are those of what everybody hears, so their speakers are believed, unless one is called as a
    /// member is, who may not have said that.
    @Test func aSpeakerWhoIsCalledAsAMemberIsAClaim() {
        var room = LogSimulation(seed: 3)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        room.say(.caption(text: "one", speaker: "Anna"))
        room.say(.caption(text: "two", speaker: room.keeper.name(of: room.guests[guest].room.own.device)))
        room.run(for: .seconds(1))
        let lines = LogSimulation.lines(room.guests[guest].events).filter {
            if case .caption = $0.content { true } else { false }
        }
        #expect(lines.map(\.isClaim) == [false, true])
        #expect(lines.compactMap(\.transcriptLine?.voice).first == "Anna")
    }

    @Test func aCaptionReachesEverybodyAtOnce() {
        var room = LogSimulation(seed: 2)
        for number: UInt8 in 1...20 {
            let guest = room.add(number)
            room.connect(guest)
        }
        room.run(for: .seconds(1))
        room.say(.caption(text: "now", speaker: "Anna"))
        room.run(for: .milliseconds(25))
        let late = room.guests.filter {
            !LogSimulation.lines($0.events).contains { $0.content == .caption(text: "now", speaker: "Anna") }
        }
        // A lost segment takes longer.
        #expect(late.count <= 4)
        room.run(for: .milliseconds(400))
        #expect(
            room.guests.allSatisfy {
                LogSimulation.lines($0.events).contains { $0.content == .caption(text: "now", speaker: "Anna") }
            })
    }

    /// Twenty members write while connections break, and two programs are killed and started again: in the end everybody
    /// has every entry once, in each author's order.
    @Test(arguments: 0..<1000) func everyLogIsEqualInTheEnd(seed: UInt64) {
        var room = LogSimulation(seed: seed)
        let count = 2 + Int(seed % 7)
        for number in 1...count { room.connect(room.add(UInt8(number))) }
        var written: [String] = []
        for round in 0..<8 {
            for index in 0..<count {
                let text = "\(index) writes \(round)"
                room.say(.note(text), guest: index)
                if round % 4 == 0 { room.say(.caption(text: "\(round)", speaker: nil)) }
                written.append(text)
            }
            room.run(for: .milliseconds(Int64(room.random.next(upperBound: 80 as UInt64))))
            switch room.random.next(upperBound: 6 as UInt64) {
            case 0: room.cut(Int(room.random.next(upperBound: UInt64(count))))
            case 1:
                // What a killed program hadn't sent is lost with it, so it sends everything first.
                let index = Int(room.random.next(upperBound: UInt64(count)))
                room.connect(index)
                room.run(for: .seconds(2))
                room.restart(index)
            default: break
            }
            for index in 0..<count where room.guests[index].connection == nil && round % 3 == 2 { room.connect(index) }
        }
        for index in 0..<count where room.guests[index].connection == nil { room.connect(index) }
        room.run(for: .seconds(2))
        let expected = LogSimulation.logs(room.keeper)
        #expect(LogSimulation.notes(room.keeperEvents).sorted() == written.sorted())
        for guest in room.guests {
            #expect(LogSimulation.logs(guest.room) == expected)
            #expect(LogSimulation.notes(guest.events).sorted() == written.sorted())
        }
        #expect(room.violations.isEmpty)
    }

    // MARK: Messages

    @Test func messagesComeOnceAndAreConfirmed() {
        var room = LogSimulation(seed: 3)
        let (first, second) = (room.add(1), room.add(2))
        room.connect(first)
        room.connect(second)
        room.run(for: .seconds(1))
        for number in 0..<100 {
            room.say(.message(id: "h\(number)", json: Array("1".utf8), to: .all))
            room.say(.message(id: "g\(number)", json: Array("2".utf8), to: .all), guest: first)
        }
        room.say(.message(id: "private", json: Array("3".utf8), to: .named("viewer 2")), guest: first)
        room.say(.message(id: "unknown", json: Array("3".utf8), to: .named("viewer 9")), guest: first)
        room.run(for: .seconds(5))
        let own = (0..<100).map { "h\($0)" }
        let others = (0..<100).map { "g\($0)" }
        #expect(LogSimulation.messages(room.guests[first].events) == own)
        #expect(LogSimulation.messages(room.keeperEvents) == others)
        #expect(
            LogSimulation.messages(room.guests[second].events).filter { $0.hasPrefix("g") } == others)
        #expect(LogSimulation.messages(room.guests[second].events).count { $0 == "private" } == 1)
        #expect(LogSimulation.delivered(room.keeperEvents) == own)
        #expect(LogSimulation.delivered(room.guests[first].events) == others + ["private"])
        #expect(LogSimulation.undelivered(room.guests[first].events) == ["unknown": .nobody])
    }

    /// A message for one member, or from before somebody came, isn't sent to others: they have its digest only.
    @Test func messagesAreForThoseWhoAreThere() {
        var room = LogSimulation(seed: 4)
        let (first, second) = (room.add(1), room.add(2))
        room.connect(first)
        room.connect(second)
        room.run(for: .seconds(1))
        room.say(.message(id: "secret", json: Array("4711".utf8), to: .named("viewer 1")))
        room.run(for: .seconds(1))
        let late = room.add(3)
        room.connect(late)
        room.run(for: .seconds(1))
        #expect(LogSimulation.messages(room.guests[first].events) == ["secret"])
        for index in [second, late] {
            #expect(LogSimulation.messages(room.guests[index].events).isEmpty)
            let bodies = room.guests[index].room.log.authors.flatMap { log in
                (log.first...max(log.first, log.last)).compactMap { log[$0]?.content }
            }
            #expect(
                !bodies.contains { if case .whole(let entry) = $0 { entry.kind == 4 } else { false } })
            #expect(LogSimulation.logs(room.guests[index].room) == LogSimulation.logs(room.keeper))
        }
    }

    /// Messages go on across lost connections and restarts of both programs: none twice, and none lost in silence.
    @Test(arguments: 0..<200) func messagesSurviveRestarts(seed: UInt64) {
        var room = LogSimulation(seed: seed)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        var (atKeeper, atGuest, settledKeeper, settledGuest): ([String], [String], Set<String>, Set<String>) =
            ([], [], [], [])
        func collect(_ room: LogSimulation) {
            atKeeper += LogSimulation.messages(room.keeperEvents)
            settledKeeper.formUnion(LogSimulation.delivered(room.keeperEvents))
        }
        func collectGuest(_ room: LogSimulation) {
            atGuest += LogSimulation.messages(room.guests[guest].events)
            settledGuest.formUnion(LogSimulation.delivered(room.guests[guest].events))
            settledGuest.formUnion(LogSimulation.undelivered(room.guests[guest].events).keys)
        }
        for round in 0..<20 {
            room.say(.message(id: "g\(round)", json: [0x30], to: .all), guest: guest)
            room.say(.message(id: "h\(round)", json: [0x30], to: .all))
            room.run(for: .milliseconds(Int64(room.random.next(upperBound: 100 as UInt64))))
            switch room.random.next(upperBound: 8 as UInt64) {
            case 0:
                room.cut(guest)
                room.run(for: .milliseconds(50))
                room.connect(guest)
            case 1 where round == 10:
                collect(room)
                room.restartKeeper()
                room.connect(guest)
            default: break
            }
        }
        room.run(for: .seconds(2))
        collect(room)
        collectGuest(room)
        #expect(Set(atKeeper).count == atKeeper.count)
        #expect(Set(atGuest).count == atGuest.count)
        // Each of the guest's messages has a result, and what was confirmed has arrived.
        #expect(settledGuest == Set((0..<20).map { "g\($0)" }))
        #expect(Set(LogSimulation.delivered(room.guests[guest].events)).isSubset(of: Set(atKeeper)))
        #expect(settledKeeper.isSubset(of: Set(atGuest)))
        #expect(room.violations.isEmpty)
    }

    // MARK: Notes and partial captions

    @Test func aHostThatTakesNoNotesShowsNone() {
        var room = LogSimulation(seed: 5, takesNotes: false)
        let (first, second) = (room.add(1), room.add(2))
        room.connect(first)
        room.connect(second)
        room.run(for: .seconds(1))
        room.say(.note("hello"), guest: first)
        room.run(for: .seconds(1))
        #expect(
            room.guests[first].events.contains(.unwritten(.note("hello"), reason: .notesOff)))
        room.say(.note("from the desk"))
        room.run(for: .seconds(1))
        #expect(LogSimulation.notes(room.guests[second].events) == ["from the desk"])
    }

    @Test func theNewestPartialCaptionReplacesTheOneBefore() {
        var room = LogSimulation(seed: 6)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        for number in 0..<50 {
            room.say(.partial(text: "word \(number)", speaker: "Anna"))
            room.run(for: .milliseconds(5))
        }
        room.run(for: .milliseconds(300))
        room.say(.caption(text: "all the words", speaker: "Anna"))
        room.run(for: .milliseconds(300))
        let partials = room.guests[guest].events.compactMap { event -> LogPartial?? in
            if case .partial(_, _, let partial) = event { .some(partial) } else { nil }
        }
        // 250 ms of words, one each 50 ms at most, and the end.
        #expect((3...8).contains(partials.count))
        #expect(partials.dropLast().last == LogPartial(text: "word 49", speaker: "Anna", isClaim: false))
        #expect(partials.last == .some(nil))
        let late = room.add(2)
        room.connect(late)
        room.run(for: .seconds(1))
        #expect(
            !room.guests[late].events.contains { if case .partial = $0 { true } else { false } })
        #expect(LogSimulation.lines(room.guests[late].events).count == 2)
    }

    /// Entries are sent in batches with pauses between them, partial captions aren't.
    @Test(arguments: 0..<20) func noPartialCaptionOvertakesTheCaptionBeforeIt(seed: UInt64) {
        var room = LogSimulation(seed: seed)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        for text in ["one", "two"] { room.say(.caption(text: text, speaker: nil)) }
        room.say(.partial(text: "three", speaker: nil))
        room.run(for: .seconds(2))
        let order = room.guests[guest].events.flatMap { event -> [String] in
            switch event {
            case .partial(_, _, let partial): [partial?.text ?? "nothing"]
            case .lines(let lines):
                lines.compactMap { if case .caption(let text, _) = $0.content { text } else { nil } }
            default: []
            }
        }
        #expect(order == ["one", "two", "three"])
    }

    // MARK: Bounds

    @Test func whenThereIsTooMuchTheOldestGoesAndJoinersAreTold() {
        var room = LogSimulation(seed: 7)
        for number in 0..<1100 {
            room.say(.caption(text: String(repeating: "x", count: 60 << 10), speaker: "\(number)"))
            room.run(for: .milliseconds(1))
        }
        #expect(room.keeper.log.bytes <= LogLimits.bytes)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(120))
        guard case .began(.some(let since), _) = room.guests[guest].events.first else {
            Issue.record("it didn't enter the room")
            return
        }
        #expect(since > .zero)
        let lines = LogSimulation.lines(room.guests[guest].events)
        #expect((1000...1090).contains(lines.count))
        #expect(lines.last?.content == .caption(text: String(repeating: "x", count: 60 << 10), speaker: "1099"))
        #expect(lines.allSatisfy { $0.time >= since })
    }

    @Test func whoWritesTooMuchIsSlowedAndTold() {
        var room = LogSimulation(seed: 8)
        let (flooder, other) = (room.add(1), room.add(2))
        room.connect(flooder)
        room.connect(other)
        room.run(for: .seconds(1))
        for number in 0..<6000 { room.say(.note("\(number)"), guest: flooder) }
        room.run(for: .seconds(10))
        let taken = LogSimulation.notes(room.keeperEvents).count
        // 1,000 at once, 200 a second, and a window.
        #expect((2000...3800).contains(taken), "\(taken)")
        #expect(room.guests[flooder].events.contains(.slowed(true)))
        room.say(.note("in between"), guest: other)
        room.run(for: .milliseconds(500))
        #expect(LogSimulation.notes(room.keeperEvents).contains("in between"))
        room.run(for: .seconds(60))
        #expect(LogSimulation.notes(room.keeperEvents).count == 6001)
        #expect(room.guests[flooder].events.last == .slowed(false))
        #expect(room.violations.isEmpty)
    }

    @Test func whatIsTooLongIsRefused() {
        var room = LogSimulation(seed: 9)
        let guest = room.add(1)
        room.connect(guest)
        room.run(for: .seconds(1))
        room.say(.message(id: "m", json: [UInt8](repeating: 0x30, count: 70_000), to: .all), guest: guest)
        room.say(.message(id: "n", json: [UInt8](repeating: 0x30, count: 65_000), to: .all), guest: guest)
        room.say(.note(String(repeating: "x", count: 2001)), guest: guest)
        room.run(for: .seconds(1))
        #expect(LogSimulation.undelivered(room.guests[guest].events) == ["m": .tooLong(limit: LogLimits.entryBody)])
        #expect(LogSimulation.messages(room.keeperEvents) == ["n"])
        #expect(LogSimulation.notes(room.keeperEvents).isEmpty)
    }
}
