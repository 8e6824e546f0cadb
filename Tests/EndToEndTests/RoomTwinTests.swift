import BeamMedia
import Foundation
import Testing

/// Two rooms of one name on the network, one of which is a stranger's: it lets everybody in, and shows whatever it gets.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct RoomTwinTests {
        private let desk: PrivateMachine
        private let sofa: PrivateMachine
        private let anna: Person
        private let stranger: Person
        private static let code = "482913"

        init() throws {
            desk = try PrivateMachine()
            sofa = try PrivateMachine(beside: desk)
            anna = try Person("Anna", at: desk)
            stranger = try Person("Stranger", at: sofa)
        }

        /// Both rooms are in use, so that neither gives way.
        private func start() throws {
            try anna.start(["study", "--code", Self.code])
            try anna.program.waitFor("ready")
            anna.program.write(#"{"note":"I am here"}"#)
            try anna.program.waitForWords("Announced on the network")
            // Made where it can't see the other one.
            try stranger.start(["study", "--accept", "all", "--no-discovery"])
            try stranger.program.waitFor("ready")
            #expect(eventually(timeout: 30) { (try? stranger.keptRooms().count) == 1 })
            stranger.program.interrupt()
            #expect(try stranger.program.waitForEnd() == .exited(0))
            try stranger.start(["study", "--accept", "all"])
            try stranger.program.waitFor("ready")
            stranger.program.write(#"{"note":"I am here"}"#)
            try stranger.program.waitForWords("Announced on the network")
            for person in [anna, stranger] {
                #expect(eventually(timeout: 20) { person.program.events("note").count == 1 })
                #expect(!person.isMoving)
            }
            // A newcomer finds both, however busy the machine is.
            for machine in [desk, sofa] {
                #expect(
                    try eventually(timeout: 40) {
                        let list = try machine.run(["avahi-browse", "-rpt", "_beamroom._tcp"])
                        defer { list.end() }
                        _ = try list.waitForEnd()
                        return try [anna, stranger].allSatisfy { list.outputText.contains(";\(try port(of: $0));") }
                    })
            }
        }

        private func end() {
            anna.end()
            stranger.end()
        }

        private func key(of person: Person) throws -> String {
            try #require(try person.program.waitFor("ready").string("key"))
        }

        private func port(of person: Person) throws -> Int {
            Int(try #require(try person.program.waitFor("ready").number("port")))
        }

        private func isShown(to person: Person) -> Bool { !person.program.events("share-began").isEmpty }

        /// The number in the question before the room of this person, once it is asked.
        private func choice(_ person: Person, in asked: Person) throws -> String {
            try asked.program.waitForWords("Which one is it?")
            let place = "\(person === anna ? "10.77.0.1" : "10.77.0.2"):\(try port(of: person)), "
            let line = try #require(asked.program.errorText.split(separator: "\n").first { $0.contains(place) })
            return try #require(line.split(separator: " ").first.map(String.init))
        }

        @Test func withoutATerminalTheErrorSaysHowToChoose() throws {
            defer { end() }
            try start()
            let ben = try Person("Ben", at: sofa)
            defer { ben.end() }
            try ben.start(["study", "--share"])
            #expect(try ben.program.waitForEnd() == .exited(1))
            let rooms = try ben.program.waitFor("which-room").fields["rooms"]?.array ?? []
            #expect(
                Set(rooms.flatMap { $0["keys"]?.array?.compactMap(\.string) ?? [] })
                    == [try key(of: anna), try key(of: stranger)])
            #expect(ben.program.errorText.contains("beamroom room --at ADDRESS"), "\(ben.program.errorText)")
            #expect(ben.program.events("let-in").isEmpty && !isShown(to: stranger))
            expectPlainWords(ben.program.errorText)
        }

        @Test func thePersonPicksAndTheCodeIsTheProof() throws {
            defer { end() }
            try start()
            let ben = try Person("Ben", at: sofa)
            defer { ben.end() }
            try ben.start(["study", "--share"], input: .terminal)
            let number = try choice(anna, in: ben)
            noticeTheQuestion()
            ben.program.process.type(number)
            try ben.program.waitFor("code-needed")
            noticeTheQuestion()
            ben.program.process.type(Self.code)
            try anna.program.waitFor("share-began") { $0.string("name") == "Ben" }
            #expect(try ben.program.waitFor("ready").fields["proved"] == .bool(true))
            #expect(!isShown(to: stranger) && stranger.names == ["Stranger"])
            expectPlainWords(ben.program.errorText)
        }

        @Test func theCodeIsTriedAtAllDoors() throws {
            defer { end() }
            try start()
            let ben = try Person("Ben", at: sofa)
            defer { ben.end() }
            try ben.start(["study", "--share", "--code", Self.code])
            do {
                try anna.program.waitFor("share-began", timeout: 40) { $0.string("name") == "Ben" }
            } catch {
                throw HarnessError("\(error)\nBen's words:\n\(ben.program.errorText)")
            }
            #expect(!isShown(to: stranger) && stranger.names == ["Stranger"])
            #expect(anna.program.events("wrong-code").isEmpty)

            // A wrong one opens none, and nobody is told to do without.
            let cleo = try Person("Cleo", at: desk)
            defer { cleo.end() }
            try cleo.start(["study", "--share", "--code", "111111"])
            #expect(try cleo.program.waitForEnd() == .exited(2))
            #expect(cleo.program.errorText.contains("No room called “study” on this network takes that code"))
            #expect(!cleo.program.errorText.localizedCaseInsensitiveContains("leave the code out"))
            let answers = cleo.program.events("code-not-taken").compactMap { $0.string("why") }
            #expect(Set(answers) == ["wrong", "unproved"])
            #expect(cleo.program.events("let-in").isEmpty && !isShown(to: stranger))
            for person in [ben, cleo] { expectPlainWords(person.program.errorText) }
        }

        /// Only the stranger's is there at first. A code is refused to it, and the right room is found when it comes.
        @Test func aStrangerAloneGetsNothingForACode() throws {
            try stranger.start(["study", "--accept", "all"])
            defer { end() }
            try stranger.program.waitForWords("Announced on the network")
            let ben = try Person("Ben", at: desk)
            defer { ben.end() }
            try ben.start(["study", "--share", "--code", Self.code], input: .terminal)
            #expect(try ben.program.waitForEnd() == .exited(2))
            #expect(ben.program.errorText.contains("It takes no code, so it can't prove that it is the one"))
            #expect(!ben.program.errorText.localizedCaseInsensitiveContains("leave the code out"))
            #expect(!isShown(to: stranger))
            expectPlainWords(ben.program.errorText)
        }

        @Test func whoPicksTheStrangersIsAskedBeforeAnythingIsShared() throws {
            defer { end() }
            try start()
            let ben = try Person("Ben", at: desk)
            defer { ben.end() }
            try ben.start(["study", "--share"], input: .terminal)
            let number = try choice(stranger, in: ben)
            noticeTheQuestion()
            ben.program.process.type(number)
            #expect(try ben.program.waitFor("ready").fields["proved"] == .bool(false))
            let question = "Is it the room that you mean?"
            try ben.program.waitForWords(question)
            let held = try ben.program.waitFor("own-share")
            #expect(held.fields["on"] == .bool(false) && held.string("reason")?.contains("proved") == true)
            noticeTheQuestion()
            ben.program.process.type("n")
            try ben.program.waitForWords("Nothing is shared here; s asks again.")
            // The key to share asks once more.
            pause(seconds: 1.2)
            let asked = ben.program.errorText.components(separatedBy: question).count
            ben.program.process.press("s")
            #expect(eventually(timeout: 10) { ben.program.errorText.components(separatedBy: question).count > asked })
            #expect(!isShown(to: stranger))
            noticeTheQuestion()
            ben.program.process.type("n")
            pause(seconds: 0.5)
            ben.program.interrupt()
            #expect(try ben.program.waitForEnd() == .exited(0))
            expectPlainWords(ben.program.errorText)

            // That it was there before is no proof: it is asked again.
            try ben.start(["study", "--share"], input: .terminal)
            let again = try choice(stranger, in: ben)
            #expect(ben.program.errorText.contains("you were in it before"))
            noticeTheQuestion()
            ben.program.process.type(again)
            try ben.program.waitForWords(question)
            #expect(!isShown(to: stranger))
            noticeTheQuestion()
            ben.program.process.type("y")
            try stranger.program.waitFor("share-began") { $0.string("name") == "Ben" }
            ben.program.interrupt()
            #expect(try ben.program.waitForEnd() == .exited(0))

            // What the person has said is remembered.
            try ben.start(["study"], input: .terminal)
            #expect(try ben.program.waitFor("ready").fields["proved"] == .bool(true))
        }

        /// A person's words that a recogniser writes down are held, too.
        @Test func captionsWaitForTheProof() throws {
            try stranger.start(["study", "--accept", "all"])
            defer { end() }
            try stranger.program.waitForWords("Announced on the network")
            let scratch = try ScratchDirectory()
            let captions = scratch.file("captions.txt")
            try "The secret is 42.\n".write(toFile: captions, atomically: true, encoding: .utf8)
            let ben = try Person("Ben", at: desk)
            defer { ben.end() }
            try ben.start(["study", "--captions", captions])
            #expect(try ben.program.waitFor("ready").fields["proved"] == .bool(false))
            try ben.program.waitForWords("Your captions aren't shared yet")
            try ben.waitForPeople(2)
            pause(seconds: 1.5)
            #expect(stranger.program.events("caption").isEmpty)
            ben.program.write(#"{"trust":true}"#)
            try stranger.program.waitFor("caption") { $0.string("text") == "The secret is 42." }
            #expect(!isShown(to: stranger))
            expectPlainWords(ben.program.errorText)
        }
    }
}
