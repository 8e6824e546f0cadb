import BeamMedia
import Foundation
import Testing

/// Rooms of one name that meet on the network, and rooms whose names are nearly the same.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct RoomMergeTests {
        /// Two networks of two machines each: announcements come from the own daemon and from another.
        private let desk: PrivateMachine
        private let sofa: PrivateMachine

        init() throws {
            desk = try PrivateMachine()
            sofa = try PrivateMachine(beside: desk)
        }

        private func person(_ name: String, at place: PrivateMachine) throws -> Person {
            try Person(name, at: place)
        }

        private func four() throws -> [Person] {
            try ["Anna", "Ben", "Cleo", "Dan"].enumerated().map {
                try person($0.element, at: [desk, sofa][$0.offset % 2])
            }
        }

        @Test func fourThatStartAtTheSameMomentEndInOneRoomAndAreInItTheNextDay() throws {
            let people = try four()
            defer { for person in people { person.end() } }
            // Two who have met don't leave their room by themselves: if two rooms have become of it, it begins anew; and if all
            // have found the first one's, so that none has to give way.
            func areTogether() -> Bool { people.allSatisfy { $0.names.count == 4 } }
            func areApart() -> Bool { people.contains { !$0.program.events("other-room").isEmpty } }
            for attempt in 0..<4 where attempt == 0 || !areTogether() || !people.contains(where: \.isMoving) {
                for person in people { person.forgetRooms() }
                for person in people { try person.start(["math", "--accept", "all"]) }
                _ = eventually(timeout: 60) { areTogether() || areApart() }
            }
            for person in people { try person.waitForPeople(4) }
            for person in people {
                #expect(person.names == ["Anna", "Ben", "Cleo", "Dan"])
                expectPlainWords(person.program.errorText)
            }
            // Three have given way; nothing but the common room is remembered.
            #expect(people.count { !$0.program.events("moving").isEmpty } >= 1)
            for person in people { person.program.interrupt() }
            for person in people { #expect(try person.program.waitForEnd() == .exited(0)) }
            #expect(try Set(people.flatMap { try $0.keptRooms() }).count == 1)
            for person in people { #expect(try person.keptRooms().count == 1) }

            // The next day nobody is let in anew.
            for person in people { try person.start(["math", "--accept", "none"]) }
            for person in people { try person.waitForPeople(4) }
            for person in people { #expect(person.program.events("moving").isEmpty) }
        }

        /// The one whose room gives way types the code of the other, and isn't asked anything else.
        @Test func theOneThatGivesWayAsksAtTheOthersDoor() throws {
            let people = [try person("Anna", at: desk), try person("Ben", at: sofa)]
            defer { for person in people { person.end() } }
            // If one is there before the other looks for a room, that makes none, and there is none to give way.
            for attempt in 0..<4 where attempt == 0 || !people.contains(where: \.isMoving) {
                for person in people { person.forgetRooms() }
                for person in people {
                    try person.start(["math", "--accept", "ask", "--share"], input: .terminal)
                }
                _ = eventually(timeout: 20) { people.contains(where: \.isMoving) }
            }
            let loser = try #require(people.first { $0.isMoving }, "no room gives way")
            let winner = try #require(people.first { $0 !== loser })
            try loser.program.waitFor("code-needed")
            #expect(winner.program.events("moving").isEmpty)
            // Its own code still stands above the question.
            try loser.program.waitForWords("The code above isn't valid any more")
            noticeTheQuestion()
            loser.program.process.type(try winner.program.shownCode())
            for person in people { try person.waitForPeople(2) }
            // Both wanted to share, and the code proves that the room is the one that is meant.
            try winner.program.waitFor("share-began") { $0.string("name") == loser.name }
            for person in people { expectPlainWords(person.program.errorText) }
        }

        /// Whoever announces a room of this name and lets in everybody gets no picture by that.
        @Test func aRoomThatProvesNothingIsShownNothingByItself() throws {
            let stranger = try person("Stranger", at: desk)
            let ben = try person("Ben", at: sofa)
            defer {
                stranger.end()
                ben.end()
            }
            try stranger.start(["math", "--accept", "all"])
            try stranger.program.waitForWords("Announced on the network")
            try ben.start(["math", "--share"])
            try ben.waitForPeople(2)
            let held = try ben.program.waitFor("own-share")
            #expect(held.fields["on"] == .bool(false))
            #expect(held.string("reason")?.contains("proved") == true)
            pause(seconds: 1.5)
            #expect(stranger.program.events("share-began").isEmpty)
            // The person says so.
            ben.program.write(#"{"share":true}"#)
            try stranger.program.waitFor("share-began") { $0.string("name") == "Ben" }
            expectPlainWords(ben.program.errorText)
        }

        /// A room in which somebody has written isn't left, but the person hears of the other one.
        @Test func aRoomThatIsUsedIsOfferedTheOther() throws {
            let people = [try person("Anna", at: desk), try person("Ben", at: sofa)]
            defer { for person in people { person.end() } }
            // Made where they can't see each other's announcements.
            for (person, port) in zip(people, [53001, 53002]) {
                try person.start(["math", "--accept", "all", "--no-discovery", "--port", "\(port)"])
                try person.program.waitFor("ready")
                #expect(eventually(timeout: 30) { (try? person.keptRooms().count) == 1 })
                person.program.interrupt()
                #expect(try person.program.waitForEnd() == .exited(0))
            }
            for person in people {
                try person.start(["math", "--accept", "all"])
                try person.program.waitFor("ready")
                person.program.write(#"{"note":"I am here"}"#)
            }
            // Exactly one of them has the room that gives way.
            #expect(eventually(timeout: 60) { people.contains { !$0.program.events("other-room").isEmpty } })
            let loser = try #require(people.first { !$0.program.events("other-room").isEmpty })
            let winner = try #require(people.first { $0 !== loser })
            pause(seconds: 2)
            #expect(winner.program.events("other-room").isEmpty && !winner.isMoving && !loser.isMoving)
            #expect(loser.program.events("other-room").first?.number("here") == 1)
            #expect(loser.program.errorText.contains("There is another “math”, with 1 person in it"))
            loser.program.write(#"{"join":true}"#)
            for person in people { try person.waitForPeople(2) }
            for person in people { expectPlainWords(person.program.errorText) }
        }

        /// The names of rooms that a slip of the keyboard makes two.
        @Test func aNameThatIsNearIsPointedOut() throws {
            let anna = try person("Anna", at: desk)
            let ben = try person("Ben", at: sofa)
            defer {
                anna.end()
                ben.end()
            }
            try anna.start(["study"])
            try anna.program.waitForWords("Announced on the network")
            try ben.start(["stduy"])
            try ben.program.waitForWords("You made the room “stduy”. Also here: “study”.")
            #expect(try ben.program.waitFor("near-rooms").fields["rooms"]?.array?.compactMap(\.string) == ["study"])
            #expect(anna.program.errorText.contains("You made the room “study”.\n"))

            // Both are listed beside the hosts, and how they are entered.
            try ben.program.waitForWords("Announced on the network")
            let list = try sofa.start(["hosts", "--wait", "2"])
            defer { list.end() }
            #expect(try list.waitForEnd() == .exited(0))
            for name in ["study", "stduy"] {
                #expect(
                    list.process.outputText.contains("\troom, 1 person: beamroom room '\(name)'"),
                    "\(list.process.outputText)")
            }
            let events = try sofa.start(["hosts", "--json", "--wait", "2"])
            defer { events.end() }
            #expect(try events.waitForEnd() == .exited(0))
            #expect(Set(events.events("room-found").compactMap { $0.string("name") }) == ["study", "stduy"])
            // Whoever only looks for something to watch is told of them.
            let viewer = try sofa.watch([])
            defer { viewer.end() }
            try viewer.waitForWords("“study” is a room: `beamroom room 'study'` enters it.")
            #expect(viewer.isRunning)
            // By its name, too; nothing could ever come.
            let other = try sofa.watch(["Study"])
            defer { other.end() }
            #expect(try other.waitForEnd() == .exited(1))
            try other.waitForWords("“study” is a room, which isn't watched: `beamroom room 'study'` enters it.")
            expectPlainWords(other.errorText)
        }
    }
}

/// Somebody in a room, who finds the others by discovery.
final class Person: Sendable {
    let name: String
    private let place: PrivateMachine
    private let machine: Machine
    private let running = Monitor<ProgramProcess?>(nil)

    init(_ name: String, at place: PrivateMachine) throws {
        self.name = name
        self.place = place
        machine = try Machine()
    }

    var program: ProgramProcess {
        guard let program = running.current else { preconditionFailure("\(name) hasn't been started") }
        return program
    }

    func start(_ arguments: [String], input: ChildProcess.Input = .pipe) throws {
        running.set(
            try place.start(
                ["room"] + arguments + [
                    "--json", "--no-window", "--time-limit", "120", "--name", name, "--source", "pattern",
                    "--media-port", "0",
                ], as: machine, input: input))
    }

    func waitForPeople(_ count: Int) throws {
        do {
            try program.waitFor("people", timeout: 60) { event in
                event.fields["people"]?.array?.count { $0["here"]?.bool == true } == count
            }
        } catch {
            throw HarnessError("\(error)\n\(name)'s words:\n\(program.errorText)")
        }
    }

    /// The names of those who are here, as it was told last.
    var names: [String] {
        let people = program.events("people").last?.fields["people"]?.array ?? []
        return people.filter { $0["here"]?.bool == true }.compactMap { $0["name"]?.string }.sorted()
    }

    /// It gives up its room for another one.
    var isMoving: Bool { !program.events("moving").isEmpty }

    /// The IDs of the rooms that it remembers.
    func keptRooms() throws -> [String] {
        let text = try String(contentsOfFile: machine.store + "/rooms.json", encoding: .utf8)
        return JSONValue(text)?["rooms"]?.array?.compactMap { $0["id"]?.string } ?? []
    }

    /// Ends the program, if it runs.
    func forgetRooms() {
        end()
        try? FileManager.default.removeItem(atPath: machine.store + "/rooms.json")
    }

    func end() { running.current?.end() }
}
