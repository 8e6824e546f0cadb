import Foundation
import Testing

/// The last line of the terminal, its keys and its bell, at a terminal with a size.
extension EndToEnd {
    @Suite(.needsProgram) struct StatusLineTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func host(
            _ arguments: [String] = [], accept: String? = "ask", input: ChildProcess.Input = .session
        ) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "Desk"] + arguments, ports: ports, accept: accept, input: input)
            if input == .session { host.process.resize(columns: 100, rows: 30) }
            try host.waitFor("ready")
            return host
        }

        /// Waits until the screen is as `isExpected` wants it.
        private func screen(
            of host: ProgramProcess, _ what: String, columns: Int = 100, until isExpected: (TerminalScreen) -> Bool
        ) throws -> TerminalScreen {
            guard eventually(timeout: 30, { isExpected(host.process.screen(columns: columns)) }) else {
                throw HarnessError("\(what): \(host.process.screen(columns: columns).text.joined(separator: "\n"))")
            }
            return host.process.screen(columns: columns)
        }

        @Test func theCodeStaysInTheLastLine() throws {
            let host = try host(["--code", "482913"])
            defer { host.end() }
            let status = "“Desk” · code 482 913 · nobody watches · keys: n note, p pause, "
            _ = try screen(of: host, "no status") { $0.text.last?.hasPrefix(status) == true }
            let viewer = try Program.watch([ports.target, "--code", "482913"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // The code changes, and the line with it.
            host.process.press("c")
            let code = try #require(
                try screen(of: host, "no new status") {
                    $0.text.last?.contains("· 1 watches ·") == true && $0.text.last?.contains("482 913") == false
                }.text.last?.split(separator: "·").first { $0.contains("code ") })
            #expect(host.errorText.contains(code.replacing("code ", with: "").trimmingCharacters(in: .whitespaces)))
            host.process.press("?")
            let shown = try screen(of: host, "no keys") {
                $0.text.contains { $0.contains("writes a note to everybody") }
            }
            #expect(shown.text.count { $0.contains("· code") } == 1, "drawn once: \(shown.text)")
            #expect(shown.text.last?.contains("· code") == true)

            host.process.press("p")
            _ = try screen(of: host, "not paused") { $0.text.last?.contains("· paused ·") == true }
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let left = host.process.screen(columns: 100).text
            #expect(!left.contains { $0.contains("· code") }, "cleared: \(left)")
            #expect(left.last?.contains("Ended after") == true)
        }

        @Test func itFollowsTheTerminalsSize() throws {
            let host = try host(["--code", "482913"])
            defer { host.end() }
            _ = try screen(of: host, "no status") { $0.text.last?.contains("? keys") == true }
            host.process.signal(SIGSTOP, toGroup: false)
            pause(seconds: 0.3)
            var shown = host.process.screen(columns: 100)
            let before = host.process.state.current.rawErrors.count
            // What is written from here on is written to a narrower terminal, which has wrapped the lines.
            shown.resize(columns: 40)
            host.process.resize(columns: 40, rows: 30)
            host.process.signal(SIGCONT, toGroup: false)
            let redrawn = { () -> TerminalScreen in
                var screen = shown
                screen.write(Array(host.process.state.current.rawErrors[before...]))
                return screen
            }
            let isRight = eventually(timeout: 30) {
                let rows = redrawn().text
                return rows.last.map { $0.hasPrefix("“Desk” · code 482 913") && $0.count <= 39 } ?? false
            }
            let rows = redrawn().text
            #expect(isRight && rows.count { $0.contains("· code") } == 1, "\(rows)")
            #expect(!rows.contains { $0.contains("p pause, ? keys") }, "nothing is left of the long line: \(rows)")
            #expect(rows.contains { $0.contains("Sharing") }, "what stands above is kept: \(rows)")
        }

        @Test(.enabled(if: Tool.exists("bash"), "bash isn't installed")) func aStoppedJobLeavesNoLine() throws {
            let machine = try Machine()
            let flag = machine.file("foreground")
            let command =
                ([Program.path, "share", "--json", "--no-discovery", "--port", "\(ports.control)", "--media-port"]
                + ["\(ports.media)", "--time-limit", "60", "--accept", "ask", "--name", "Desk"] + .pattern)
                .joined(separator: " ")
            let shell = try ChildProcess(
                "bash", ["--norc", "-mc", "\(command); while [ ! -e \(flag) ]; do sleep 0.1; done; fg"],
                environment: ["DISPLAY": nil, "XDG_STATE_HOME": machine.state], input: .session)
            let host = ProgramProcess(wrapping: shell, on: machine)
            defer { host.end() }
            host.process.resize(columns: 100, rows: 30)
            try host.waitFor("ready")
            let isShown = { (screen: TerminalScreen) in screen.text.contains { $0.contains("“Desk” · code") } }
            _ = try screen(of: host, "no status", until: isShown)
            host.process.send("\u{1A}")
            _ = try screen(of: host, "the status stays") { !isShown($0) }
            #expect(FileManager.default.createFile(atPath: flag, contents: nil))
            _ = try screen(of: host, "the status is lost", until: isShown)
            host.process.send("\u{03}")
            #expect(try host.waitForEnd() == .exited(0))
        }

        @Test func nothingOfItIsWrittenIntoAPipe() throws {
            let host = try host(["--code", "482913"], input: .pipe)
            defer { host.end() }
            try host.waitFor("stats")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try host.waitFor("pairing")
            host.interrupt()
            _ = try host.waitForEnd()
            let raw = host.process.state.current.rawErrors
            #expect(
                !raw.contains(0x1B) && !raw.contains(0x07) && !host.errorText.contains("keys:"), "\(host.errorText)")
        }

        @Test func keysThatComeTogetherDoNothing() throws {
            let host = try host()
            defer { host.end() }
            host.process.send("pause the npm install, please\n")
            try host.waitForWords("Several keys at once do nothing here")
            // Another one. A word that is typed key by key is tested in virtual time.
            pause(seconds: 1.5)
            host.process.send("notepad\n")
            let words = "Several keys at once do nothing here: each acts when it is pressed alone. ? lists them."
            #expect(eventually(timeout: 20) { host.process.state.current.errors.count { $0 == words } == 2 })
            #expect(host.events("paused").isEmpty && host.notes.isEmpty)
            pause(seconds: 1)
            host.process.press("p")
            try host.waitFor("paused")
            try host.waitForWords("Press p to resume")
            host.process.press("p\n")
            try host.waitFor("paused") { $0.fields["on"] == .bool(false) }
        }

        @Test func aRequestRingsOnceAndNotForEver() throws {
            let host = try host()
            defer { host.end() }
            #expect(host.process.screen(columns: 100).bells == 0)
            for number in 1...5 {
                let viewer = try Program.watch([ports.target])
                defer { viewer.end() }
                #expect(eventually(timeout: 30) { host.events("pairing").count >= number })
                _ = try screen(of: host, "no bell") { $0.bells == min(number, 3) }
                pause(seconds: 1.2)
            }
            #expect(host.process.screen(columns: 100).bells == 3)
        }
    }
}
