import Foundation
import Testing

/// Notes and pauses at the host's terminal.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomTerminalTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func host(_ arguments: [String] = [], accept: String? = "all") throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "Desk"] + arguments, ports: ports, accept: accept, input: .terminal)
            try host.waitFor("ready")
            return host
        }

        private func watch(_ arguments: [String] = []) throws -> ProgramProcess {
            let viewer = try Program.watch([ports.target] + arguments, input: .pipe)
            try viewer.waitFor("first-frame")
            return viewer
        }

        private func frames(_ viewer: ProgramProcess, from line: Int) throws -> Double {
            try viewer.waitFor("stats", from: line).number("frames") ?? 0
        }

        @Test func aNoteIsWrittenLetterByLetter() throws {
            let host = try host()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            try host.process.beginNote()
            for key in "Hello, nip pön 你" { host.process.send(String(key)) }
            pause(seconds: 0.5)
            #expect(viewer.notes.isEmpty && host.events("paused").isEmpty, "keys of a note are no commands")
            // A character is corrected, with all its bytes.
            host.process.send("\u{7F}\u{7F}n!\n")
            let note = try viewer.waitFor("note")
            #expect(note.text == "Hello, nip pönn!" && note.string("name") == "Desk")
            try viewer.waitForWords("“Desk” writes: Hello, nip pönn!")
            try host.waitForWords("Note: Hello, nip pönn!")
            #expect(host.notes.map(\.text) == ["Hello, nip pönn!"])

            // An empty line and Escape end a note; keys are commands again.
            try host.process.beginNote()
            host.process.send("\n")
            try host.process.beginNote()
            host.process.send("never sent")
            pause(seconds: 0.3)
            host.process.send("\u{1B}")
            host.process.press("p")
            try host.waitFor("paused")
            // An arrow key isn't Escape.
            try host.process.beginNote()
            host.process.send("with an ")
            host.process.send("\u{1B}[D")
            host.process.send("arrow\n")
            try viewer.waitFor("note") { $0.text == "with an arrow" }
            #expect(viewer.notes.count == 2)
            #expect(viewer.events("error").isEmpty && host.unreadableLines == [])
        }

        @Test func pausingHoldsThePictureAndIsToldToEverybody() throws {
            let host = try host()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            host.process.press("p")
            let alert = try viewer.waitFor("alert")
            #expect(alert.string("what") == "paused" && alert.string("name") == "Desk")
            try viewer.waitForWords("“Desk” has paused")
            try host.waitForWords("Paused: nothing is captured, and viewers keep the last picture. Press p to resume.")
            #expect(try host.waitFor("paused").fields["on"] == .bool(true))
            pause(seconds: 1.5)
            let before = try frames(viewer, from: viewer.lineCount)
            let captured = try host.waitFor("stats", from: host.lineCount).number("captured")
            pause(seconds: 2)
            #expect(try frames(viewer, from: viewer.lineCount) == before)
            #expect(try host.waitFor("stats", from: host.lineCount).number("captured") == captured)
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)

            // A newcomer learns it, and sees the last picture.
            let late = try Program.watch([ports.target])
            defer { late.end() }
            #expect(try late.waitFor("alert").string("what") == "paused")
            try late.waitFor("first-frame")

            let line = viewer.lineCount
            host.process.press("p")
            try viewer.waitFor("alert", from: line) { $0.string("what") == "resumed" }
            try late.waitFor("alert") { $0.string("what") == "resumed" }
            #expect(try host.waitFor("paused") { $0.fields["on"] == .bool(false) }.name == "paused")
            for program in [viewer, late] {
                try program.waitFor("stats", from: program.lineCount) { ($0.number("fps") ?? 0) > 10 }
            }
            host.interrupt()
            for program in [viewer, late] { try program.waitFor("alert") { $0.string("what") == "leaving" } }
        }

        @Test func aProgramPausesToo() throws {
            let host = try Program.share(.pattern, ports: ports, input: .pipe)
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            for (value, what) in [("true", "paused"), ("true", ""), ("false", "resumed"), ("1", "")] {
                host.write("{\"pause\":\(value)}")
                if !what.isEmpty { try viewer.waitFor("alert") { $0.string("what") == what } }
            }
            #expect(try host.waitFor("error").string("reason") == "`pause` takes true or false")
            #expect(viewer.events("alert").count == 2)
        }

        @Test func aBadLineIsNamedByItsNumberAndItsID() throws {
            let host = try Program.share(.pattern, ports: ports, input: .pipe)
            defer { host.end() }
            let lines = [
                #"{"note":"fine"}"#, #"{"note":""}"#, #"{"note":" \u200b\t"}"#, #"{"id":"a","message":1,"to":7}"#,
                #"{"id":"b","#, "words", #"{"id":"c"}"#, #"{"id":"\#(String(repeating: "i", count: 65))","message":1}"#,
                "{\"note\":\"" + String(repeating: "x", count: 70_000) + "\"}", #"{"id":9,"note":9}"#,
            ]
            for line in lines { host.write(line) }
            let last = try host.waitFor("error") { $0.number("line") == 10 }
            #expect(last.string("reason") == "`note` takes a string" && last.string("what") == "line")
            let errors = host.events("error")
            #expect(errors.map { $0.number("line") } == (2...10).map { Double($0) }, "\(errors)")
            #expect(errors.map { $0.string("id") } == [nil, nil, "a", nil, nil, "c", nil, nil, nil])
            #expect(errors.prefix(2).map { $0.string("reason") } == ["`note` is empty", "`note` is empty"])
            #expect(host.notes.map(\.text) == ["fine"])
        }

        /// The host's machine stands still while a note is written: it is printed when it comes, however old it is then.
        @Test func aNoteThatWasUnderWayForLongIsPrinted() throws {
            let host = try host()
            defer { host.end() }
            let (writer, reader) = (try watch(), try watch())
            defer { for viewer in [writer, reader] { viewer.end() } }
            let early = String(repeating: "so early ", count: 200) + "end"
            writer.write("{\"note\":\"\(early)\"}")
            for program in [host, reader] {
                try program.waitFor("note")
                // Whole, though it is longer than a line.
                try program.waitForWords("writes: \(early)")
            }
            host.process.signal(SIGSTOP, toGroup: false)
            writer.write(#"{"note":"written meanwhile"}"#)
            pause(seconds: 6)
            host.process.signal(SIGCONT, toGroup: false)
            for program in [host, reader] { try program.waitForWords("writes: written meanwhile") }
            let note = try host.waitFor("note") { $0.string("text") == "written meanwhile" }
            #expect(try #require(note.number("age")) > 5)
            // A newcomer has both in the log, and is shown neither.
            let late = try watch()
            defer { late.end() }
            pause(seconds: 0.5)
            #expect(late.notes.count == 2 && !late.errorText.contains("writes:"), "\(late.errorText)")
        }

        @Test func aQuestionWaitsForTheNote() throws {
            let host = try host(["--code", "482913"], accept: "ask")
            defer { host.end() }
            let viewer = try watch(["--code", "482913"])
            defer { viewer.end() }
            try host.process.beginNote()
            host.process.send("y")
            pause(seconds: 0.3)
            let asking = try Program.watch([ports.target])
            defer { asking.end() }
            try host.waitForWords("Finish the note first")
            pause(seconds: 1.5)
            #expect(!host.errorText.contains("You'll compare digits first"))
            // What is typed belongs to the note, and answers nothing.
            host.process.send("es\n")
            try viewer.waitFor("note") { $0.text == "yes" }
            try host.waitForWords("You'll compare digits first")
            #expect(asking.events("paired").isEmpty)
            let seen = host.process.state.current.errors.count
            pause(seconds: 1.5)
            #expect(!host.errorText.contains("Does it show the same digits"))
            // Commands are none while a question is open.
            host.process.send("np")
            host.process.type("")
            try host.waitForWords("y (yes) or n (no)", from: seen)
            #expect(host.events("paused").isEmpty)
            noticeTheQuestion()
            host.process.type("n")
            #expect(try asking.waitForEnd() == .exited(2))
            // And commands again.
            host.process.press("p")
            try host.waitFor("paused")
            #expect(viewer.notes.map(\.text) == ["yes"])
        }
    }
}
