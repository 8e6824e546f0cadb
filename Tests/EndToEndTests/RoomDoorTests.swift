import Foundation
import Testing

/// How newcomers come into a room of equals: one code and one question for all members.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomDoorTests {
        /// One code at all members, whoever replaces it; whoever was put out doesn't know the next one.
        @Test func theRoomHasOneCode() throws {
            let names = ["Anna", "Ben", "Cleo"]
            let all = try names.map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben, cleo) = (all[0], all[1], all[2])
            try anna.start("study", input: .terminal)
            let code = try anna.program.shownCode()
            for (member, door) in [(ben, anna), (cleo, ben)] {
                try member.launch(["--at", door.target, "--code", code], input: .terminal)
                try member.program.waitFor("ready")
                #expect(try member.program.shownCode() == code, "all show the same")
            }
            for member in all { try member.waitForPeople(here: 3) }
            // The last one replaces it for all.
            let second = try cleo.program.newCode(after: code)
            for member in [anna, ben] {
                try member.program.waitForWords("“Cleo” has replaced the room's code. New code")
            }
            for member in all { #expect(member.lastCode == second) }
            let dora = try Member("Dora")
            defer { dora.end() }
            try dora.launch(["--at", anna.target, "--code", code])
            #expect(try dora.program.waitForEnd() == .exited(2))
            #expect(dora.program.errorText.contains("replaced its code a moment ago"), "\(dora.program.errorText)")
            try dora.launch(["--at", anna.target, "--code", second])
            try dora.program.waitFor("ready")
            for member in all { try member.waitForPeople(here: 4) }
            #expect(anna.program.events("wrong-code").isEmpty)

            // Cleo is put out.
            anna.program.process.send("x")
            try anna.program.waitForWords("Put whom out of the room?")
            pause(seconds: 1.2)
            anna.program.process.type("2")
            #expect(try cleo.program.waitForEnd() == .exited(2))
            try ben.program.waitFor("code-changed") {
                $0.string("why") == "put-out" && $0.fields["isThere"] == .bool(true)
            }
            #expect(eventually(timeout: 10) { anna.lastCode == ben.lastCode && anna.lastCode != second })
            #expect(cleo.lastCode == second)
            for member in all { expectPlainWords(member.program.errorText) }
        }

        /// The newcomer asks at one door, and another member answers: the digits are the same, and the first answer counts.
        @Test func aNewcomersQuestionReachesEverybody() throws {
            let all = try ["Anna", "Ben", "Cleo"].map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben, cleo) = (all[0], all[1], all[2])
            try anna.start("study", input: .terminal)
            let code = try anna.program.shownCode()
            for member in [ben, cleo] {
                try member.launch(["--at", anna.target, "--code", code], input: .terminal)
                try member.program.waitFor("ready")
            }
            for member in all { try member.waitForPeople(here: 3) }
            let seen = all.map { $0.program.process.state.current.errors.count }
            let dora = try Member("Dora")
            defer { dora.end() }
            try dora.launch(["--at", ben.target], input: .terminal)
            try dora.program.waitFor("code-needed")
            pause(seconds: 1.2)
            dora.program.process.type("ask")
            for member in all { try member.program.waitForWords("Somebody asks to enter, without the code") }
            pause(seconds: 1.2)
            cleo.program.process.type("y")
            for member in [anna, ben] { try member.program.waitForWords("“Cleo” has answered “Dora”") }
            try cleo.program.waitForWords("Digits to compare, not to type")
            let asked = cleo.program.process.state.current.errors.dropFirst(seen[2])
                .compactMap { Program.code(in: $0) }.last
            let digits = try #require(asked)
            let isSame = eventually(timeout: 20) {
                dora.program.process.state.current.errors.contains { Program.code(in: $0) == digits }
            }
            #expect(isSame, "\(digits); \(dora.program.errorText)")
            for (member, count) in zip([anna, ben], seen) {
                let shown = member.program.process.state.current.errors.dropFirst(count)
                #expect(!shown.contains { $0.contains("Digits to compare") }, "only the member that answered compares")
            }
            pause(seconds: 1.2)
            cleo.program.process.type("y")
            try dora.program.waitFor("ready")
            for member in all + [dora] { try member.waitForPeople(here: 4) }
            for member in all + [dora] { expectPlainWords(member.program.errorText) }
        }

        /// Nobody can be asked at the door's own machine, but at another member's.
        @Test func aDoorWithoutAPersonAsksTheOthers() throws {
            let all = try ["Anna", "Ben"].map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben) = (all[0], all[1])
            try anna.start("study", input: .terminal)
            try ben.launch(
                ["--at", anna.target, "--code", try anna.program.shownCode(), "--accept", "none"], input: .terminal)
            try ben.program.waitFor("ready")
            for member in all { try member.waitForPeople(here: 2) }
            let seen = ben.program.lineCount
            let dora = try Member("Dora")
            defer { dora.end() }
            try dora.launch(["--at", ben.target], input: .terminal)
            try dora.program.waitFor("code-needed")
            pause(seconds: 1.2)
            dora.program.process.type("ask")
            try anna.program.waitForWords("Somebody asks to enter, without the code")
            pause(seconds: 1.2)
            anna.program.process.type("y")
            try anna.program.waitForWords("Digits to compare, not to type")
            pause(seconds: 1.2)
            anna.program.process.type("y")
            try dora.program.waitFor("ready")
            for member in all + [dora] { try member.waitForPeople(here: 3) }
            #expect(dora.program.errorText.contains("Or type `ask`"))
            #expect(!ben.program.errorText.contains("asks to enter") && !ben.program.errorText.contains("to compare"))
            #expect(ben.program.events("pairing").isEmpty && ben.program.lineCount > seen)
            for member in all + [dora] { expectPlainWords(member.program.errorText) }

            // When she has gone, there is nobody to ask at Ben's door: a code is the only way.
            anna.program.interrupt()
            #expect(try anna.program.waitForEnd() == .exited(0))
            dora.program.interrupt()
            #expect(try dora.program.waitForEnd() == .exited(0))
            #expect(eventually(timeout: 30) { ben.names == ["Ben"] }, "\(ben.names)")
            let emil = try Member("Emil")
            defer { emil.end() }
            try emil.launch(["--at", ben.target], input: .terminal)
            try emil.program.waitFor("code-needed")
            pause(seconds: 1.2)
            emil.program.process.type("ask")
            try emil.program.waitForWords("That isn't a code")
            #expect(!emil.program.errorText.contains("Or type `ask`"))
        }

        /// An X server that takes a connection and says nothing: meanwhile the room's words reach the person.
        @Test func nothingIsLostWhileAnXServerDoesNotAnswer() throws {
            let server = try Socket.listen()
            // X servers have the ports from 6000 on; what the system chooses is above.
            let number = try #require(server.localEndpoint.port > 6000 ? server.localEndpoint.port - 6000 : nil)
            let all = try ["Anna", "Ben"].map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben) = (all[0], all[1])
            try anna.start(
                "study",
                ["--accept", "all", "--source", "x11", "--display", "127.0.0.1:\(number)", "--audio", "off"])
            try ben.enter(through: anna)
            for member in all { try member.waitForPeople(here: 2) }
            anna.program.write(#"{"share":true}"#)
            let connection = try #require(server.accept(timeout: 20), "nothing connects to the X server")
            ben.program.write(#"{"note":"Can you read this?"}"#)
            try anna.program.waitFor("note")
            try anna.program.waitForWords("Can you read this?")
            withExtendedLifetime(connection) {}
        }
    }
}
