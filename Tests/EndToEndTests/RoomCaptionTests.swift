import Foundation
import Testing

/// `share --captions`: from a captioner's line to the viewers' events.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomCaptionTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func share(
            _ arguments: [String], machine: Machine? = nil, input: ChildProcess.Input = .none
        ) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "Desk"] + arguments, ports: ports, machine: machine, input: input)
            try host.waitFor("ready")
            return host
        }

        private func watch(_ input: ChildProcess.Input = .none) throws -> ProgramProcess {
            let viewer = try Program.watch([ports.target], input: input)
            try viewer.waitFor("first-frame")
            return viewer
        }

        /// The picture goes on.
        private func expectFrames(_ viewer: ProgramProcess) throws {
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("fps") ?? 0) > 10 }
        }

        @Test func linesOfAPipeAreCaptionsAtTheViewer() throws {
            let pipe = try CaptionPipe()
            let host = try share(["--captions", pipe.path])
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            try pipe.write("plain words\n{\"partial\":\"I am\"}\n")
            let plain = try viewer.waitFor("caption") { $0.text == "plain words" }
            #expect(plain.fields["partial"] == .bool(false) && plain.fields["own"] == .bool(false))
            #expect(plain.string("name") == "Desk" && plain.fields["speaker"] == nil)
            let partial = try viewer.waitFor("caption") { $0.text == "I am" }
            #expect(partial.fields["partial"] == .bool(true))
            try pipe.write(
                "{\"partial\":\"I am here\",\"speaker\":\"Ann\"}\n{\"final\":\"I am here.\",\"speaker\":\"Ann\"}\n")
            let final = try viewer.waitFor("caption") { $0.text == "I am here." }
            #expect(final.fields["partial"] == .bool(false) && final.string("speaker") == "Ann")

            // Bad lines are left out, and said so.
            try pipe.write("{bad\n{\"neither\":1}\n{\"final\":7}\n{\"final\":\"a\",\"partial\":\"b\"}\nfine\n")
            try viewer.waitFor("caption") { $0.text == "fine" }
            for line in 5...8 { try host.waitForWords("Line \(line) of the captions was left out") }
            #expect(viewer.captions == ["plain words", "I am here.", "fine"])
            #expect(host.captions == viewer.captions, "the host's own program reads them, too")

            // The writer stalls in the middle of a line, leaves, and another one comes.
            try pipe.write("half a")
            try expectFrames(viewer)
            try pipe.write(" line\n")
            try viewer.waitFor("caption") { $0.text == "half a line" }
            pipe.close()
            try expectFrames(viewer)
            try pipe.write("another writer\n")
            try viewer.waitFor("caption") { $0.text == "another writer" }
            #expect(viewer.events("stall").isEmpty && viewer.unreadableLines == [] && host.unreadableLines == [])
            expectPlainWords(host.errorText)
        }

        /// A host without `--json`, which reads captions from standard input.
        private func shareInput(_ input: ChildProcess.Input, before command: String = "") throws -> ProgramProcess {
            let machine = try Machine()
            let arguments =
                [
                    "share", "--no-discovery", "--port", "\(ports.control)", "--media-port", "\(ports.media)", "--name",
                    "Desk",
                ]
                + .pattern + ["--captions", "-", "--time-limit", "60"]
            let line = command + ([Program.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let process = try ChildProcess(
                "/bin/sh", ["-c", line],
                environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_STATE_HOME": machine.state], input: input)
            let host = ProgramProcess(wrapping: process, on: machine)
            try host.waitForWords("To watch, run on another machine")
            return host
        }

        @Test func standardInputIsACaptionersAlone() throws {
            let host = try shareInput(.pipe, before: "exec ")
            defer { host.end() }
            // There is no terminal: nobody can be asked.
            try host.waitForWords("Only viewers that were paired before are let in")
            host.write("one")
            // With `--captions -` these are lines of the captioner.
            host.write(#"{"note":"not a note"}"#)
            try host.waitForWords("Line 2 of the captions was left out")
            host.process.hangUp()
            // The end of standard input ends nothing else.
            try host.waitForWords("The captions have ended. Sharing goes on.")
            #expect(host.isRunning)
        }

        @Test func standardInputIsReadByOneOnly() throws {
            for (more, words) in [
                (["--json"], "--captions - and --json both read standard input"),
                (["--accept", "ask"], "With --captions - and no terminal nobody can be asked"),
            ] {
                let (ending, _, said) = try Program.run(["share", "--captions", "-"] + more)
                #expect(ending == .exited(64) && said.contains(words) && said.contains("--captions FILE"), "\(said)")
            }
        }

        /// `recogniser | beamroom share --captions -` in a terminal: keys and answers come from the terminal itself.
        @Test func theKeyboardIsAliveWhileCaptionsComeFromStandardInput() throws {
            let pipe = try CaptionPipe()
            let host = try shareInput(.session, before: "cat '\(pipe.path)' | ")
            defer { host.end() }
            try host.waitForWords("p pauses, n writes a note")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            host.process.type("y")
            try host.waitForWords("Does it show the same digits")
            noticeTheQuestion()
            host.process.type("y")
            try viewer.waitFor("first-frame")
            try pipe.write("said\n")
            try viewer.waitForCaptions(1)
            try host.process.beginNote()
            host.process.send("by hand\n")
            try viewer.waitFor("note") { $0.text == "by hand" }
            host.process.press("p")
            try viewer.waitFor("alert") { $0.string("what") == "paused" }
            try host.waitForWords("Paused: nothing is captured")
            // What ends is the pipe, not the keyboard.
            pipe.close()
            try host.waitForWords("The captions have ended")
            host.process.press("p")
            try viewer.waitFor("alert") { $0.string("what") == "resumed" }
            #expect(viewer.captions == ["said"])
        }

        @Test func aFileIsFollowedAsItGrows() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("captions.txt")
            try Data("first\n".utf8).write(to: URL(fileURLWithPath: file))
            let host = try share(["--captions", file])
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            try viewer.waitForCaptions(1)
            let writer = try #require(FileHandle(forWritingAtPath: file))
            try writer.seekToEnd()
            try writer.write(contentsOf: Data("second\nthird".utf8))
            // A file's last line needs no end.
            try viewer.waitForCaptions(3)
            #expect(viewer.captions == ["first", "second", "third"])
        }

        @Test func aLateJoinerReadsTwoThousandLinesFromTheFirst() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("captions.txt")
            let lines = (1...2000).map { "line \($0) of a long lesson" }
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
            let host = try share(["--captions", file])
            defer { host.end() }
            try host.waitForCaptions(2000, timeout: 45)
            let viewer = try watch()
            defer { viewer.end() }
            try viewer.waitForCaptions(2000)
            let times = viewer.roomEvents("caption").map(\.time)
            let entered = try #require(viewer.events("paired").first).time
            report(
                "a late joiner has the first and the last of 2,000 lines after",
                "\((times[0] - entered) * 1000), \((times[1999] - entered) * 1000) ms")
            try Data("and one more\n".utf8).append(to: file)
            try viewer.waitForCaptions(2001)
            #expect(viewer.captions == lines + ["and one more"])
            #expect(try #require(viewer.events("room").first).fields["complete"] == .bool(true))
        }

        @Test func captionsThatCannotBeReadAreAnError() throws {
            let scratch = try ScratchDirectory()
            for path in [scratch.file("none"), scratch.path] {
                let (ending, _, words) = try Program.run(
                    ["share", "--no-discovery", "--port", "0", "--captions", path, "--time-limit", "5"] + .pattern)
                #expect(ending == .exited(1) && words.contains(path), "\(words)")
                expectPlainWords(words)
            }
        }
    }
}

extension Data {
    fileprivate func append(to path: String) throws {
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try writer.seekToEnd()
        try writer.write(contentsOf: self)
        try writer.close()
    }
}
