import Foundation
import Testing

/// What `beamroom watch` says when something happens: one true sentence for each state.
extension EndToEnd {
    @Suite(.needsProgram) struct ViewerWordsTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func share(_ arguments: [String] = [], machine: Machine? = nil) throws -> ProgramProcess {
            let host = try Program.share(.pattern + ["--name", "desk"] + arguments, ports: ports, machine: machine)
            try host.waitFor("ready")
            return host
        }

        /// The lines for people from `first` on.
        private func lines(_ viewer: ProgramProcess, from first: Int = 0) -> [String] {
            Array(viewer.process.state.current.errors.dropFirst(first))
        }

        @Test func anEndedShareHasOneSentenceUntilItIsBack() throws {
            let desk = try Machine()
            let host = try share(machine: desk)
            defer { host.end() }
            let viewer = try Program.watch([ports.target], input: .terminal)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            pause(seconds: 1)
            let seen = lines(viewer).count
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            try viewer.waitFor("host-ended")
            // Longer than the viewer takes to find silence, or a refused connection.
            pause(seconds: 6)
            #expect(
                lines(viewer, from: seen) == ["“desk” has ended its share. The picture returns when it shares again."])
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)
            let back = try share(machine: desk)
            defer { back.end() }
            let start = secondsNow()
            try viewer.waitForWords("live again", from: seen)
            report("a host is back, live again after", "\((secondsNow() - start).short) s")
            expectPlainWords(viewer.errorText)
        }

        @Test func aHostThatIsNeverReachedIsConnectedTo() throws {
            let viewer = try Program.watch([ports.target, "--time-limit", "4"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2), "no picture has come")
            #expect(viewer.errorText.contains("Connecting to \(ports.target)"), "\(viewer.errorText)")
            #expect(viewer.errorText.contains("nobody shares there"), "\(viewer.errorText)")
            #expect(!viewer.errorText.contains("Reconnecting"), "\(viewer.errorText)")
            #expect(lines(viewer).count { $0.contains("nobody shares there") } == 1, "\(viewer.errorText)")
            #expect(viewer.errorText.contains("No picture has come in 4 s"), "\(viewer.errorText)")
        }

        /// A host whose machine stands still, and goes on. Nothing is guessed about it.
        @Test func aStoppedHostIsSaidToSendNothing() throws {
            let host = try share()
            defer { host.end() }
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            pause(seconds: 1)
            let seen = lines(viewer).count
            kill(host.pid, SIGSTOP)
            try viewer.waitForWords("Nothing arrives from “desk”", from: seen)
            // Until the control connection is given up, too, and a new one isn't answered.
            try viewer.waitFor("retry")
            try viewer.waitForWords("“desk” hasn't been reachable since ", from: seen)
            #expect(lines(viewer, from: seen).count == 2, "\(lines(viewer, from: seen))")
            for guess in ["iPhone", "older app", "--allow-unencrypted", "live again"] {
                #expect(!lines(viewer, from: seen).contains { $0.contains(guess) }, "\(lines(viewer, from: seen))")
            }
            kill(host.pid, SIGCONT)
            try viewer.waitForWords("live again", from: seen)
        }

        @Test func aTypedKeyTakesPartInTheComparison() throws {
            let host = try Program.share(.pattern + ["--name", "desk"], ports: ports, accept: "ask", input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let code = try host.shownCode()
            let viewer = try Program.watch([ports.target], input: .terminal)
            defer { viewer.end() }
            let needed = try viewer.waitFor("code-needed")
            #expect(needed.fields["mayAsk"] == .bool(true))
            pause(seconds: 2)
            #expect(host.events("pairing").isEmpty, "nobody is asked before the viewer's person wants it")
            viewer.process.type("ask")
            try viewer.waitFor("asking")
            try host.waitFor("pairing")
            #expect(Program.code(in: viewer.errorText) == nil, "no digits before the person at the host agrees")
            // The person reads the code after all: the question at the host ends.
            noticeTheQuestion()
            viewer.process.type("\(code.prefix(3)) \(code.suffix(3))")
            try viewer.waitFor("first-frame")
            try host.waitForWords("no longer asks")
        }

        @Test func bothPersonsCompareInTheirTerminals() throws {
            let host = try Program.share(.pattern + ["--name", "desk"], ports: ports, accept: "ask", input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target], input: .terminal)
            defer { viewer.end() }
            try viewer.waitFor("code-needed")
            noticeTheQuestion()
            viewer.process.type("ask")
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            host.process.type("y")
            try viewer.waitForWords("compares these digits")
            let shown = try viewer.shownCode()
            try host.waitForWords("Does it show the same digits")
            #expect(host.errorText.contains("\(shown.prefix(3)) \(shown.suffix(3))"))
            noticeTheQuestion()
            host.process.type("y")
            try viewer.waitFor("first-frame")
        }

        @Test(.needsXServer, .needsXdotool) func theWindowOffersToAskThePerson() throws {
            let host = try Program.share(.pattern + ["--name", "desk"], ports: ports, accept: "ask", input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 800, height: 600)
            let viewer = try Program.watch([ports.target], display: screen.display, input: .terminal)
            defer { viewer.end() }
            try viewer.waitFor("code-needed")
            try viewer.waitForWords("in the window")
            pause(seconds: 0.5)
            func press(_ keys: String...) throws {
                try Tool.run("xdotool", ["mousemove", "400", "300", "key", "--delay", "30"] + keys, on: screen.display)
            }
            // Enter behind a digit may have been meant for the code.
            try press("4", "Return")
            pause(seconds: 1)
            #expect(viewer.events("asking").isEmpty)
            try press("BackSpace", "Return")
            try viewer.waitFor("asking")
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            host.process.type("y")
            try viewer.waitForWords("compares these digits")
            try host.waitForWords("Does it show the same digits")
            noticeTheQuestion()
            // The terminal's question has ended with the answer in the window.
            viewer.process.type("123456")
            host.process.type("y")
            try viewer.waitFor("first-frame")
            #expect(viewer.events("code-needed").count == 1)
        }

        @Test func theEndOfStandardInputEndsAViewerWithAQuestion() throws {
            let host = try share(["--code", "482913", "--accept", "none"])
            defer { host.end() }
            let viewer = try Program.watch([ports.target], input: .terminal)
            defer { viewer.end() }
            try viewer.waitFor("code-needed")
            noticeTheQuestion()
            // Ctrl-D; the line feed after it is never read.
            viewer.process.type("\u{4}")
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("--code"), "\(viewer.errorText)")
        }

        /// A pipe that nobody writes into: the program waits for the code, and ends when it is told to.
        @Test func aPipeWithoutACodeDoesNotBlockTheEnd() throws {
            let scratch = try ScratchDirectory()
            let pipe = scratch.file("code")
            #expect(mkfifo(pipe, 0o600) == 0)
            let viewer = try Program.watch([ports.target, "--code-file", pipe])
            defer { viewer.end() }
            try viewer.process.waitUntilItTakesInterrupts()
            pause(seconds: 1)
            #expect(viewer.isRunning)
            viewer.interrupt()
            let ending = try viewer.waitForEnd()
            #expect(ending == .exited(0), "\(viewer.errorText)")
            // The code may come in two parts.
            let host = try share(["--code", "482913", "--accept", "none"])
            defer { host.end() }
            let second = try Program.watch([ports.target, "--code-file", pipe])
            defer { second.end() }
            let writer = open(pipe, O_WRONLY)
            defer { close(writer) }
            for part in ["482", " 913\n"] {
                _ = part.withCString { write(writer, $0, strlen($0)) }
                pause(seconds: 0.3)
            }
            try second.waitFor("first-frame")
        }

        @Test func anotherKeyAtAWatchedAddressIsRefusedByTheViewer() throws {
            let host = try share(["--code", "482913", "--accept", "none"])
            defer { host.end() }
            let viewer = try Program.watch([ports.target, "--code", "482913", "--once"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            host.interrupt()
            _ = try host.waitForEnd()
            // Another machine at the address, which lets in everybody.
            let other = try share()
            defer { other.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            let refused = try #require(viewer.events("refused").first)
            #expect(refused.string("by") == "viewer")
            #expect(
                viewer.errorText.contains("“desk” isn't the machine you watched. It shows another key"),
                "\(viewer.errorText)")
            #expect(other.events("paired").isEmpty)
        }

        @Test func aUsedCodeIsNamedAsTheReason() throws {
            let host = try share(["--code", "482913", "--code-once", "--accept", "none"])
            defer { host.end() }
            let first = try Program.watch([ports.target, "--code", "482913"])
            defer { first.end() }
            try first.waitFor("first-frame")
            let late = try Program.watch([ports.target, "--code", "482913"])
            defer { late.end() }
            #expect(try late.waitForEnd() == .exited(2))
            #expect(late.errorText.contains("was used. There each code lets in one viewer"), "\(late.errorText)")
        }

        // MARK: Files

        @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
        func aFullDiskEndsTheRecordingNotTheWatching() throws {
            let scratch = try ScratchDirectory()
            let host = try share()
            defer { host.end() }
            let file = scratch.file("full.mkv")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full")
            let viewer = try Program.watch(
                [ports.target, "--record", file, "--frames", scratch.file("frames.y4m")])
            defer { viewer.end() }
            let failed = try viewer.waitFor("recording-failed")
            #expect(failed.string("reason")?.localizedCaseInsensitiveContains("no space left") == true)
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("fps") ?? 0) > 10 }
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(1))
            #expect(viewer.errorText.contains("Watching goes on"), "\(viewer.errorText)")
            #expect(viewer.events.last?.name == "summary")
            expectPlainWords(viewer.errorText)
        }

        @Test func anEmptyRecordingIsNoObstacle() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("talk.mkv")
            let none = try Program.watch([ports.target, "--record", file, "--time-limit", "1"])
            defer { none.end() }
            #expect(try none.waitForEnd() == .exited(2))
            #expect(!FileManager.default.fileExists(atPath: file), "nothing was recorded")
            // What a killed viewer leaves.
            let killed = try Program.watch([ports.target, "--record", file])
            defer { killed.end() }
            #expect(eventually(timeout: 10) { FileManager.default.fileExists(atPath: file) })
            // Meanwhile the file is the other viewer's.
            let second = try Program.watch([ports.target, "--record", file, "--time-limit", "1"])
            defer { second.end() }
            #expect(try second.waitForEnd() == .exited(1))
            #expect(second.errorText.contains("exists already"), "\(second.errorText)")
            killed.kill()
            _ = try killed.waitForEnd()
            #expect(fileSize(file) == 0 && FileManager.default.fileExists(atPath: file))
            let host = try share()
            defer { host.end() }
            let viewer = try Program.watch([ports.target, "--record", file])
            defer { viewer.end() }
            let recording = try viewer.waitFor("recording")
            #expect(recording.string("file") == file)
            pause(seconds: 1)
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect(fileSize(file) > 0)
        }

        @Test(.needsXServer) func theNextFileIsAnnounced() throws {
            let server = try XServer(width: 800, height: 600)
            let painter = try Painter(server.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            let window = try #require(connection.visibleWindows().last?.id)
            let scratch = try ScratchDirectory()
            let host = try Program.share(["--display", server.display, "--window", "\(window)"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--record", scratch.file("talk.mkv")])
            defer { viewer.end() }
            try viewer.waitFor("recording")
            connection.resize(window, width: 641, height: 361)
            try viewer.waitFor("recording") { $0.string("file") == scratch.file("talk-2.mkv") }
            try viewer.waitForWords("the recording goes on in \(scratch.file("talk-2.mkv"))")
        }
    }
}
