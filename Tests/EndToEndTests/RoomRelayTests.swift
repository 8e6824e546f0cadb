import Foundation
import Testing

/// A screen that can be shown through another member only.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomRelayTests {
        /// At which nobody can be reached, and with which Cleo dials nobody on loopback but whom it enters through: so it has
        /// no connection to Anna.
        private static let nowhere = ["--bind", "239.255.0.7"]

        @Test func nothingIsShownThroughAnotherMemberBeforeThePersonHasAgreed() throws {
            let all = try ["Anna", "Ben", "Cleo"].map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben, cleo) = (all[0], all[1], all[2])
            try anna.start("study", ["--share", "--accept", "all"])
            try ben.enter(through: anna, ["--accept", "all"])
            try ben.program.waitFor("first-frame")
            try cleo.launch(["--at", ben.target] + Self.nowhere)
            try cleo.program.waitFor("ready")
            try cleo.waitForPeople(here: 3)
            let asked = try cleo.program.waitFor("relay-asked")
            #expect(asked.string("name") == "Anna" && asked.string("throughName") == "Ben")
            try cleo.program.waitForWords("Its screen can be shown through “Ben”, who could change what you see")
            pause(seconds: 2)
            #expect(cleo.program.events("first-frame").isEmpty)
            cleo.program.process.type(#"{"relay":true,"from":"Nobody"}"#)
            try cleo.program.waitFor("error")
            cleo.program.process.type(#"{"relay":true}"#)
            let relayed = try cleo.program.waitFor("relayed")
            #expect(relayed.string("name") == "Anna" && relayed.string("throughName") == "Ben")
            let first = try cleo.program.waitFor("first-frame")
            #expect(relayed.time <= first.time, "it is said before anything is shown")
            #expect(cleo.program.events("relay-asked").count == 1)
            for member in all { expectPlainWords(member.program.errorText) }
        }

        @Test func whoWantsNoneIsNotAsked() throws {
            let all = try ["Anna", "Ben", "Cleo"].map { try Member($0) }
            defer { for member in all { member.end() } }
            let (anna, ben, cleo) = (all[0], all[1], all[2])
            try anna.start("study", ["--share", "--accept", "all"])
            try ben.enter(through: anna, ["--accept", "all"])
            try ben.program.waitFor("first-frame")
            try cleo.launch(["--at", ben.target, "--relays", "none"] + Self.nowhere)
            try cleo.waitForPeople(here: 3)
            pause(seconds: 5)
            #expect(cleo.program.events("relay-asked").isEmpty && cleo.program.events("first-frame").isEmpty)
        }
    }
}
