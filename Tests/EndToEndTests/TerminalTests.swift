import Foundation
import Testing

/// A person at the host's terminal: questions, what is typed, jobs in the background, a window that is closed.
extension EndToEnd {
    @Suite(.needsProgram) struct TerminalTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func host(
            _ arguments: [String] = [], accept: String? = "ask", input: ChildProcess.Input = .terminal
        ) throws -> ProgramProcess {
            let host = try Program.share(.pattern + arguments, ports: ports, accept: accept, input: input)
            try host.waitFor("ready")
            return host
        }

        private func lines(_ host: ProgramProcess) -> [String] { host.process.state.current.errors }

        // MARK: Questions

        @Test func aQuestionEndsWithItsAskerAndTheNextOneComesAtOnce() throws {
            let host = try host()
            defer { host.end() }
            let first = try Program.watch([ports.target])
            defer { first.end() }
            try host.waitForWords("You'll compare digits first")
            let second = try Program.watch([ports.target])
            defer { second.end() }
            try second.waitFor("asking")
            noticeTheQuestion()
            host.process.type("y")
            try host.waitForWords("Does it show the same digits")
            let digits = try first.shownCode()

            // The first viewer is gone while its digits stand there: the person must not compare the second one's with
            // them.
            let seen = lines(host).count
            let start = secondsNow()
            first.kill()
            try host.waitForWords("no longer asks to watch", from: seen)
            try host.waitForWords("You'll compare digits first", from: seen, timeout: 10)
            report("a question after its predecessor's asker has gone", "\(((secondsNow() - start) * 1000).short) ms")
            noticeTheQuestion()
            host.process.type("y")
            try host.waitForWords("Does it show the same digits", from: seen)
            let asked = lines(host).dropFirst(seen).lazy.compactMap { Program.code(in: $0) }.first
            #expect(asked != digits)
            #expect(try second.shownCode() == asked)
            noticeTheQuestion()
            host.process.type("y")
            try second.waitFor("first-frame")
        }

        @Test func anOlderAppThatHasGoneKeepsNobodyWaiting() throws {
            let host = try host(["--allow-unencrypted"])
            defer { host.end() }
            let first = try IOSViewer(ports.control, from: "127.0.0.2", code: "111111")
            try host.waitForWords("Does it show the digits 111 111")
            let second = try IOSViewer(ports.control, from: "127.0.0.3", code: "222222")
            defer { second.leave() }
            pause(seconds: 0.5)
            let seen = lines(host).count
            let start = secondsNow()
            first.leave()
            try host.waitForWords("Does it show the digits 222 222", from: seen, timeout: 10)
            report("the next older app is asked about after", "\(((secondsNow() - start) * 1000).short) ms")
            let said = lines(host).dropFirst(seen)
            #expect(said.contains { $0.contains("127.0.0.2") && $0.contains("no longer asks") }, "\(said)")
            noticeTheQuestion()
            host.process.type("y")
            #expect(try second.reply()["ok"] == .bool(true))
        }

        @Test func anAnswerThatComesTooLateIsNotDroppedInSilence() throws {
            let host = try host()
            defer { host.end() }
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            viewer.kill()
            try host.waitForWords("no longer asks to watch")
            host.process.type("y")
            try host.waitForWords("That question had ended, so the answer wasn't used")
            #expect(host.events("paired").isEmpty)
            // Keys are commands again.
            host.process.press("p")
            try host.waitFor("paused")
        }

        @Test func enterAloneRepeatsTheQuestionAndOtherWordsAreExplained() throws {
            let host = try host()
            defer { host.end() }
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            let seen = lines(host).count
            host.process.type("")
            try host.waitForWords("You'll compare digits first", from: seen)
            host.process.type("perhaps")
            try host.waitForWords("y (yes) or n (no)", from: seen)
            host.process.type("n")
            #expect(try viewer.waitForEnd() == .exited(2))
        }

        @Test func whatIsTypedHasALineOfItsOwn() throws {
            let host = try host()
            defer { host.end() }
            let own = try #require(host.process.terminalSettings)
            #expect(own.c_lflag & tcflag_t(ICANON) == 0, "keys are read one by one")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            // Typed slowly and corrected, while other viewers come and go, with an arrow key in between.
            host.process.send("n")
            pause(seconds: 0.3)
            for _ in 0..<3 {
                let socket = try Socket.connect(to: Endpoint(ports.control), from: "127.0.0.1")
                socket.send([0x16, 0x09, 0x09, 0x00, 0x02, 0x01, 0x00])
                _ = socket.receive(timeout: 2)
            }
            host.process.send("\u{1B}[D")
            pause(seconds: 1.2)
            host.process.send("\u{7F}")
            host.process.type("y")
            _ = try viewer.shownCode()
            try host.waitForWords("> y")
            #expect(
                !lines(host).contains { $0.contains("frames/s") && $0.contains(">") },
                "the status line and the answer are mixed: \(host.errorText)")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let left = try #require(host.process.terminalSettings)
            #expect(left.c_lflag & tcflag_t(ICANON) != 0, "the terminal's own settings are back")
        }

        // MARK: The background

        @Test(.enabled(if: Tool.exists("bash"), "bash isn't installed")) func aJobInTheBackgroundIsNotStopped() throws {
            let machine = try Machine()
            let flag = machine.file("foreground")
            let command =
                ([Program.path, "share", "--json", "--no-discovery", "--port", "\(ports.control)", "--media-port"]
                + ["\(ports.media)", "--time-limit", "50", "--accept", "ask"] + .pattern).joined(separator: " ")
            // With -m the shell has job control, as for a person: the job gets a process group, and no terminal.
            let shell = try ChildProcess(
                "bash", ["--norc", "-mc", "\(command) & while [ ! -e \(flag) ]; do sleep 0.1; done; fg"],
                environment: ["DISPLAY": nil, "XDG_STATE_HOME": machine.state], input: .session)
            let host = ProgramProcess(wrapping: shell, on: machine)
            defer { host.end() }
            try host.waitFor("ready")
            try host.waitForWords("in the background")
            let first = try Program.watch([ports.target])
            defer { first.end() }
            try first.waitFor("asking")
            try host.waitForWords("asks to watch. A job in the background can't ask")
            // What is typed there is for the shell's foreground job.
            host.process.type("y")
            // It goes on: the statistics come each second.
            let count = host.events("stats").count
            #expect(eventually(timeout: 20) { host.events("stats").count >= count + 3 })
            #expect(!host.errorText.contains("You'll compare digits first"))
            let explanations = { lines(host).count { $0.contains("bring it to the foreground (`fg`) to answer") } }
            #expect(explanations() == 1)

            #expect(FileManager.default.createFile(atPath: flag, contents: nil))
            try host.waitForWords("You'll compare digits first")
            noticeTheQuestion()
            host.process.type("y")
            try host.waitForWords("Does it show the same digits")
            let asked = lines(host).first { $0.contains("Digits to compare") }.flatMap { Program.code(in: $0) }
            #expect(try first.shownCode() == asked)
            noticeTheQuestion()
            host.process.type("y")
            try first.waitFor("first-frame")
            #expect(explanations() == 1)
            // Ctrl-C, which the terminal sends to the job that it belongs to.
            host.process.send("\u{03}")
            #expect(try host.waitForEnd() == .exited(0))
            #expect(host.events.last?.name == "summary")
        }

        // MARK: The end of the terminal

        @Test(arguments: ["share", "watch"]) func aClosedWindowEndsTheProgramInOrder(command: String) throws {
            let other = command == "watch" ? try host(accept: "all", input: .none) : nil
            defer { other?.end() }
            let program =
                command == "watch"
                ? try Program.watch([ports.target], input: .session) : try host(accept: "all", input: .session)
            defer { program.end() }
            let viewer = command == "share" ? try Program.watch([ports.target]) : program
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            program.process.hangUp()
            #expect(try program.waitForEnd() == .exited(0))
            #expect(program.events.last?.name == "summary")
            guard let other else { return }
            try other.waitFor("viewer-left") { $0.string("reason") == "its program has ended" }
            try other.waitForWords("has stopped watching.")
        }

        @Test func aViewerIsCalledAsItWishes() throws {
            let host = try host(accept: "all")
            defer { host.end() }
            let viewer = try Program.watch([ports.target, "--name", "Pupil  3"])
            defer { viewer.end() }
            #expect(try host.waitFor("paired").string("name") == "Pupil 3")
            try host.waitForWords("“Pupil 3” (127.0.0.1) is let in.")
            // It isn't the machine's name from then on.
            let other = try Program.watch([ports.target])
            defer { other.end() }
            #expect(try host.waitFor("paired") { $0.string("name") != "Pupil 3" }.string("name") != nil)
            for name in ["", " \u{200B}", String(repeating: "x", count: 201)] {
                let (ending, _, words) = try Program.run(["watch", "127.0.0.1", "--name", name])
                #expect(ending == .exited(64) && words.contains("--name takes 1 to 200 bytes"), "\(words)")
            }
        }

        @Test func nohupKeepsTheProgramRunning() throws {
            let machine = try Machine()
            let shell = try ChildProcess(
                "nohup",
                [Program.path, "share", "--json", "--no-discovery", "--port", "\(ports.control)", "--media-port"]
                    + ["\(ports.media)", "--time-limit", "30", "--accept", "all"] + .pattern,
                environment: ["DISPLAY": nil, "XDG_STATE_HOME": machine.state])
            let host = ProgramProcess(wrapping: shell, on: machine)
            defer { host.end() }
            try host.waitFor("ready")
            shell.signal(SIGHUP, toGroup: false)
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
        }
    }
}
