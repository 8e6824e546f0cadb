import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// When a guest's history has come, in virtual time.
struct CatchUpTests {
    /// Follows a guest's events, and what they say of the share at each moment.
    private struct Follower {
        var condition = ShareCondition()
        var taken = 0
        /// The number of alerts that have come.
        var alerts = 0
        var wasPaused = false
        var wasLocked = false
        var changes: [LogAlert] = []

        mutating func follow(_ events: [LogEvent]) {
            for event in events[taken...] {
                if case .lines(let lines) = event {
                    alerts += lines.count { if case .alert = $0.content { true } else { false } }
                }
                changes += condition.handle(event)
                wasPaused = wasPaused || condition.isPaused
                wasLocked = wasLocked || condition.isLocked
            }
            taken = events.count
        }
    }

    /// Captions that take several batches.
    private func talk(_ room: inout LogSimulation) {
        for number in 0..<600 { room.say(.caption(text: "caption \(number)", speaker: nil)) }
    }

    @Test(arguments: 0..<5) func anOldPauseIsNotShownToWhoComesLate(seed: UInt64) {
        var room = LogSimulation(seed: seed)
        room.say(.alert(.paused))
        room.say(.alert(.locked))
        talk(&room)
        room.say(.alert(.resumed))
        room.say(.alert(.unlocked))
        room.say(.alert(.batteryLow(percent: 12)))
        talk(&room)
        let guest = room.add(1)
        room.connect(guest)
        var follower = Follower()
        var steps: Set<Int> = []
        for _ in 0..<800 {
            room.run(for: .milliseconds(5))
            follower.follow(room.guests[guest].events)
            steps.insert(follower.alerts)
        }
        #expect(steps.contains(2), "pause and resumption came at once: nothing could be wrong")
        #expect(!follower.wasPaused && !follower.wasLocked)
        #expect(follower.changes == [.batteryLow(percent: 12)])
        // From then on at once.
        room.say(.alert(.paused))
        room.run(for: .milliseconds(300))
        follower.follow(room.guests[guest].events)
        #expect(follower.condition.isPaused)
        // Missed while the connection was lost.
        room.cut(guest)
        room.say(.alert(.resumed))
        room.say(.alert(.locked))
        talk(&room)
        room.say(.alert(.paused))
        room.say(.alert(.unlocked))
        room.connect(guest)
        let before = follower.changes
        for _ in 0..<800 {
            room.run(for: .milliseconds(5))
            follower.follow(room.guests[guest].events)
            #expect(follower.condition.isPaused, "it was paused before, and is now")
        }
        #expect(follower.alerts == 10 && follower.changes == before && !follower.wasLocked)
        #expect(room.violations.isEmpty)
    }

    /// What was in the room before a guest came is history, and what it missed isn't.
    @Test(arguments: 0..<5) func whatWasMissedIsNoHistory(seed: UInt64) {
        var room = LogSimulation(seed: seed)
        let (guest, other) = (room.add(1), room.add(2))
        room.connect(other)
        room.run(for: .seconds(1))
        room.say(.note("before, by a guest"), guest: other)
        room.run(for: .seconds(1))
        room.say(.note("before"))
        talk(&room)
        room.connect(guest)
        room.run(for: .seconds(4))
        room.say(.note("after"))
        room.run(for: .seconds(1))
        room.cut(guest)
        room.say(.note("missed"))
        room.say(.note("missed, by a guest"), guest: other)
        room.run(for: .seconds(20))
        room.connect(guest)
        room.run(for: .seconds(2))
        let lines = LogSimulation.lines(room.guests[guest].events)
        func notes(isHistory: Bool) -> Set<String> {
            Set(
                lines.filter { $0.isHistory == isHistory }.compactMap {
                    if case .note(let text) = $0.content { text } else { nil }
                })
        }
        #expect(notes(isHistory: true) == ["before", "before, by a guest"])
        #expect(notes(isHistory: false) == ["after", "missed", "missed, by a guest"])
        #expect(
            lines.count { $0.isHistory } > 600 && !LogSimulation.lines(room.keeperEvents).contains { $0.isHistory })
    }

    /// An empty note is nothing.
    @Test func anEmptyNoteIsRefused() {
        var room = LogSimulation(seed: 1)
        for text in ["", " \n", "\u{200B}"] { room.say(.note(text)) }
        room.run(for: .seconds(1))
        #expect(LogSimulation.notes(room.keeperEvents).isEmpty)
        #expect(room.keeperEvents.filter { if case .unwritten(.note, .empty) = $0 { true } else { false } }.count == 3)
    }

    /// The connection is lost again and again before all has come.
    @Test func aConnectionThatIsLostMeanwhileChangesNothing() {
        var room = LogSimulation(seed: 1)
        room.say(.alert(.paused))
        talk(&room)
        talk(&room)
        room.say(.alert(.resumed))
        let guest = room.add(1)
        var follower = Follower()
        var connections = 0
        while follower.alerts < 2, connections < 100 {
            connections += 1
            room.connect(guest)
            for _ in 0..<30 {
                room.run(for: .milliseconds(5))
                follower.follow(room.guests[guest].events)
            }
            room.cut(guest)
        }
        #expect(connections > 1 && connections < 100)
        #expect(!follower.wasPaused)
        room.connect(guest)
        room.run(for: .seconds(1))
        #expect(room.guests[guest].events.last == .caughtUp(host: "desk"))
    }

    /// Of the keeper's entries only newer ones than it said are there by now, or none at all.
    @Test func whatWasDroppedMeanwhileIsNotWaitedFor() throws {
        let (signing, device) = LogSigning.simulated(LogSimulation.keeperNumber)
        var log = LogStore(room: [UInt8](repeating: 1, count: 16), keeper: device, signing: signing)
        let keeper = LogAuthor(device: device, run: 5)
        let note = LogEntry(kind: .note, milliseconds: 1, body: [0x61])
        for _ in 0..<10 { _ = log.append(note, by: keeper, age: .zero) }
        let (own, ownDevice) = LogSigning.simulated(1)
        var guest = LogExchange(
            LogExchange.Configuration(role: .guest, own: ownDevice, name: "viewer", signing: own),
            random: SeededGenerator(seed: 1))
        guest.metKeeper(ViewerSession.keeper, device: device, name: "desk", now: .zero)
        let greeting = LogMessage.Greeting(
            room: log.room, age: 0, run: 5, flags: [], completeSince: 1, unsettled: 0, has: [keeper: 10])
        guest.received(.greeting(greeting), from: ViewerSession.keeper, now: .zero)
        var events: [LogEvent] = []
        func drain() {
            while let output = guest.pollOutput() { if case .event(let event) = output { events.append(event) } }
        }
        drain()
        #expect(events.last == .catchingUp)
        // The first ten have gone.
        for _ in 0..<2 { _ = log.append(note, by: keeper, age: .zero) }
        let found = log.batch(from: 10, has: [:]) { _, _, _ in true }
        guest.received(.batch(try #require(found.outgoing).batch), from: ViewerSession.keeper, now: .zero)
        drain()
        #expect(events.last == .caughtUp(host: "desk"))
    }
}
