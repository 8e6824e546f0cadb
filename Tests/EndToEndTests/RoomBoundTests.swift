import BeamMedia
import Foundation
import Testing

/// What members of a room can't do: flood it, change a terminal, read on after they were forgotten.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomBoundTests {
        let ports: Ports
        let desk: Machine
        let sofa: Machine

        init() throws {
            ports = try Ports()
            desk = try Machine()
            sofa = try Machine()
        }

        private func share(
            _ arguments: [String] = [], accept: String? = "all", input: ChildProcess.Input = .none
        ) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + arguments, ports: ports, accept: accept, machine: desk, input: input)
            try host.waitFor("ready")
            return host
        }

        /// In the person's terminal or log, as far as a peer causes them: 10 in 10 s of each kind.
        private func expectFewLines(_ words: String, at program: ProgramProcess, since start: Double) {
            let periods = 1 + Int((secondsNow() - start) / 10)
            let count = program.process.state.current.errors.count { $0.contains(words) }
            #expect((1...10 * periods).contains(count), "\(count) lines with “\(words)”")
        }

        @Test func aHostThatPausesAgainAndAgainFillsNobodysTerminal() throws {
            let host = try share(["--name", "Desk"], input: .pipe)
            defer { host.end() }
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let start = secondsNow()
            for number in 0..<400 { host.write("{\"pause\":\(number.isMultiple(of: 2))}") }
            #expect(eventually(timeout: 30) { viewer.rawLines("alert").count >= 400 })
            expectFewLines("has paused", at: viewer, since: start)
            #expect(viewer.process.state.current.errors.count < 100, "\(viewer.errorText)")
            #expect(viewer.errorText.utf8.count < 20_000)
        }

        @Test func anAuthorThatFloodsIsSlowedAndOthersAreNot() throws {
            let host = try share(input: .pipe)
            defer { host.end() }
            let flooder = try Program.watch([ports.target], input: .pipe)
            defer { flooder.end() }
            let other = try Program.watch([ports.target], machine: sofa, input: .pipe)
            defer { other.end() }
            for viewer in [flooder, other] { try viewer.waitFor("first-frame") }
            let begin = secondsNow()
            let count = 1800
            Thread.detachNewThread {
                for number in 1...count { flooder.write("{\"note\":\"flood \(number)\"}") }
            }
            let slowed = try flooder.waitFor("slowed")
            #expect(slowed.fields["on"] == .bool(true))
            try flooder.waitForWords("Too much is written at once")
            // Meanwhile.
            for number in 1...5 {
                other.write("{\"message\":\(number),\"to\":\"all\",\"id\":\"m\(number)\"}")
                let start = secondsNow()
                try other.waitFor("delivered") { $0.string("id") == "m\(number)" }
                report("a message beside a flood is delivered after", "\(((secondsNow() - start) * 1000).short) ms")
            }
            try flooder.waitFor("slowed") { $0.fields["on"] == .bool(false) }
            // Slowed, and nothing is lost.
            #expect(eventually(timeout: 20) { other.rawLines("note").count == count })
            #expect(other.notes.map(\.text) == (1...count).map { "flood \($0)" })
            #expect(flooder.events("slowed").map { $0.fields["on"] } == [.bool(true), .bool(false)])
            #expect(other.events("slowed").isEmpty && other.events("stall").isEmpty)
            #expect(host.isRunning)
            for program in [host, other] { expectFewLines("writes: flood", at: program, since: begin) }
            expectFewLines("Too much is written", at: flooder, since: begin)
        }

        /// Control, escape and bidirectional characters in everything that others write.
        @Test func nobodysTerminalIsChanged() throws {
            let scratch = try ScratchDirectory()
            let evil = "\u{1B}[2J\u{1B}]0;title\u{7}\u{202E}\u{2066}\u{200F}\u{9B}31m\u{0}\r\u{8}evil"
            let file = scratch.file("captions")
            let object: JSONValue = .object(["final": .string(evil), "speaker": .string(evil)])
            try Data((evil.replacing("\r", with: "") + "\n" + object.line + "\n").utf8).write(
                to: URL(fileURLWithPath: file))
            let host = try share(
                [
                    "--name", "Desk\u{1B}[31m\u{202E}x", "--captions", file, "--transcript", scratch.file("host.txt"),
                    "--code", "482913",
                ], accept: "none", input: .terminal)
            defer { host.end() }
            let reader = try Program.watch(
                [ports.target, "--code", "482913", "--transcript", scratch.file("viewer.vtt")], machine: sofa,
                input: .terminal)
            defer { reader.end() }
            try reader.waitFor("device-paired")
            let writer = try Program.watch([ports.target, "--code", "482913"], input: .pipe)
            defer { writer.end() }
            try writer.waitFor("room")
            writer.write(JSONValue.object(["note": .string(evil + " note")]).line)
            writer.write(JSONValue.object(["message": .string(evil), "to": .string(evil)]).line)
            writer.write(JSONValue.object(["message": .string(evil), "id": .string("evil\u{1B}[2J")]).line)
            for program in [host, reader] {
                try program.waitFor("note")
                try program.waitFor("message")
                try program.waitForWords("evil note")
            }
            try reader.waitForCaptions(2)
            for program in [reader, writer, host] {
                program.interrupt()
                #expect(try program.waitForEnd() == .exited(0))
                let raw = program.errorText.unicodeScalars
                for scalar in ["\u{7}", "\u{202E}", "\u{2066}", "\u{200F}", "\u{9B}", "\u{0}", "\u{8}"]
                    as [Unicode.Scalar]
                {
                    #expect(
                        !raw.contains(scalar), "\(scalar.escaped(asASCII: true)): \(program.errorText.debugDescription)"
                    )
                }
                for sequence in ["\u{1B}[2J", "\u{1B}]", "\u{1B}[31m"] {
                    #expect(!program.errorText.contains(sequence))
                }
                #expect(program.unreadableLines == [])
            }
            for name in ["host.txt", "viewer.vtt"] {
                let text = try String(contentsOfFile: scratch.file(name), encoding: .utf8)
                #expect(text.contains("evil"))
                #expect(
                    text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control },
                    "\(name)")
                #expect(
                    !text.unicodeScalars.contains { "\u{202E}\u{2066}\u{200F}".unicodeScalars.contains($0) }, "\(name)")
            }
        }

        @Test func aForgottenDeviceGetsNothingMore() throws {
            let pipe = try CaptionPipe()
            let host = try share(["--code", "482913", "--captions", pipe.path], accept: "none", input: .pipe)
            defer { host.end() }
            let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa, input: .pipe)
            defer { viewer.end() }
            try viewer.waitFor("device-paired")
            try host.waitFor("device-paired")
            try pipe.write("for both\n")
            try viewer.waitForCaptions(1)
            viewer.write(#"{"message":1,"id":"m"}"#)
            try host.waitFor("message")
            let name = try #require(try desk.devices().first?.string("name"))
            #expect(try desk.forget(name).ending == .exited(0))
            try host.waitFor("viewer-left")
            let line = viewer.lineCount
            try pipe.write("a secret\n{\"partial\":\"a secret\"}\n")
            host.write(#"{"note":"a secret"}"#)
            host.write(#"{"message":"a secret","id":"s"}"#)
            try host.waitFor("undelivered") { $0.string("id") == "s" }
            viewer.write(#"{"note":"from outside"}"#)
            pause(seconds: 3)
            #expect(!viewer.process.outputText.contains("a secret") && !viewer.errorText.contains("a secret"))
            #expect(viewer.events.dropFirst(line).allSatisfy { $0.name != "caption" && $0.name != "note" })
            #expect(!host.process.outputText.contains("from outside"))
            // A new try of it is refused.
            let again = try Program.watch([ports.target], machine: sofa)
            defer { again.end() }
            #expect(try again.waitForEnd() == .exited(2))
            #expect(again.events("room").isEmpty && again.events("caption").isEmpty)
        }

        @Test func anOlderAppSeesNothingOfIt() throws {
            let pipe = try CaptionPipe()
            let host = try share(["--allow-unencrypted", "--captions", pipe.path], input: .pipe)
            defer { host.end() }
            let app = try IOSViewer(ports.control)
            defer { app.leave() }
            #expect(try app.reply()["ok"] == .bool(true))
            let viewer = try Program.watch([ports.target], machine: sofa, input: .pipe)
            defer { viewer.end() }
            try viewer.waitFor("room")
            try app.waitForFrames(10)
            let keys = Set(app.current.messages.flatMap { $0.object.map { Array($0.keys) } ?? [] })
            for number in 1...50 { try pipe.write("caption \(number)\n{\"partial\":\"part \(number)\"}\n") }
            viewer.write(#"{"note":"a note"}"#)
            host.write(#"{"message":"m","id":"m"}"#)
            // It is no member: one has the message.
            #expect(try host.waitFor("delivered").number("count") == 1)
            try viewer.waitForCaptions(50)
            try host.waitFor("note")
            let frames = app.current.checker.frames.count
            try app.waitForFrames(frames + 30)
            let state = app.current
            #expect(!state.controlHasEnded && state.checker.errors == [])
            #expect(
                Set(state.messages.flatMap { $0.object.map { Array($0.keys) } ?? [] }).subtracting(["hb"])
                    == keys.subtracting(["hb"]))
            for words in ["caption", "part ", "note", "room"] { #expect(!state.lines.contains { $0.contains(words) }) }
        }
    }
}
