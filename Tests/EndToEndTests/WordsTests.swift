import Foundation
import Testing

/// What the host and the command line say: codes, limits, names, options without effect.
extension EndToEnd {
    @Suite(.needsProgram) struct WordsTests {
        let desk: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            ports = try Ports()
        }

        // MARK: Usage

        @Test(
            arguments: [
                (["wathc"], ["wathc", "Did you mean `beamroom watch`?"]),
                (["shar"], ["Did you mean `beamroom share`?"]),
                (["nonsense"], ["nonsense", "share, watch"]),
                (["devices", "forgte", "x"], ["Did you mean `beamroom devices forget`?"]),
                (["share", "--source", "pattern", "--monitor", "1"], ["--monitor", "test pattern"]),
                (["share", "--source", "pattern", "--no-cursor"], ["--no-cursor", "test pattern"]),
                (["share", "--source", "pattern", "--display", ":0"], ["--display", "test pattern"]),
                (["share", "--size", "640x360"], ["--size", "--source pattern"]),
                (["share", "--content", "still"], ["--content", "--source pattern"]),
                (["share", "--source", "film.mkv", "--max-fps", "30"], ["--max-fps", "own rate"]),
                (["share", "--source", "film.mkv", "--size", "640x360"], ["--size", "--source pattern"]),
                (["share", "--port", "99999"], ["--port", "65535"]),
                (["share", "--max-fps", "0"], ["--max-fps", "1 to 240"]),
                (["share", "--max-fps", "fast"], ["--max-fps", "1 to 240"]),
                (["share", "--max-size", "9"], ["--max-size", "16 to 8192"]),
                (["share", "-b", "lots"], ["-b", "1000M"]),
                (["share", "--region", "big"], ["--region", "800x600+10+20"]),
                (["share", "--window", ""], ["--window", "0x1c00007", "title"]),
                (["share", "--select", "--monitor", "0"], ["--select", "--monitor"]),
                (["share", "--source", "pattern", "--select"], ["--select", "test pattern"]),
                (["share", "--source", "pattern", "--size", "1x1"], ["--size", "2 to 8192"]),
                (["share", "--code", "12345"], ["--code", "six digits"]),
                (["pattern", "/tmp/film.mp4"], [".y4m", "film.mp4"]),
                (["pattern", "/tmp/film"], [".y4m"]),
            ] as [([String], [String])])
        func aWrongOptionIsExplained(arguments: [String], words: [String]) throws {
            let (ending, output, said) = try Program.run(arguments)
            #expect(ending == .exited(64), "\(said)")
            #expect(output == "")
            for word in words { #expect(said.contains(word), "\(said)") }
            expectPlainWords(said)
        }

        @Test(arguments: [
            ["nonsense"], ["share", "--max-fps", "0"], ["watch", "--what"], ["--help"], ["--version"], ["devices"],
            ["hosts", "--wait", "0.1"], ["pattern"], ["measure", "--seconds", "0"],
        ])
        func commandsEndInOrderWhateverTheirOutputIs(arguments: [String]) throws {
            let usual = try Program.run(arguments, machine: desk).ending
            for outlet in [ChildProcess.Outlet.file("/dev/full"), .brokenPipe, .closed] {
                let process = try ProgramProcess(arguments, machine: desk, output: outlet, errors: outlet)
                defer { process.end() }
                // A search ends when nobody reads its result.
                let isUnread = if case .brokenPipe = outlet { arguments.first == "hosts" } else { false }
                #expect(
                    try process.waitForEnd() == (isUnread ? .exited(0) : usual), "\(arguments) with \(outlet)")
            }
        }

        /// Only a reader of events that has gone ends the program: `theProgramEndsWithItsReader`.
        @Test(arguments: [ChildProcess.Outlet.file("/dev/full"), .brokenPipe, .closed])
        func sharingAndWatchingGoOnWithoutAnyOutput(outlet: ChildProcess.Outlet) throws {
            let output = if case .brokenPipe = outlet { ChildProcess.Outlet.read } else { outlet }
            let host = try Program.share(.pattern, ports: ports, output: output, errors: outlet)
            defer { host.end() }
            let viewer = try Program.watch([ports.target], output: output, errors: outlet)
            defer { viewer.end() }
            let witness = try Program.watch([ports.target])
            defer { witness.end() }
            try witness.waitFor("first-frame")
            pause(seconds: 2)
            for process in [viewer, host] {
                #expect(process.isRunning)
                process.process.signal(SIGTERM, toGroup: false)
                #expect(try process.waitForEnd() == .exited(0))
            }
        }

        @Test(.needsXServer) func aLauncherThatClosesAllStreamsGetsAWindow() throws {
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let server = try XServer(width: 800, height: 600)
            let machine = try Machine()
            // All three are closed by the shell, as some launchers do.
            let viewer = try ChildProcess(
                "sh",
                ["-c", "exec \"$@\" <&- >&- 2>&-", "sh", Program.path, "watch", ports.target, "--time-limit", "40"],
                environment: ["DISPLAY": server.display, "XDG_STATE_HOME": machine.state, "WAYLAND_DISPLAY": nil])
            defer { viewer.end() }
            let hasWindow = eventually(timeout: 30) {
                ((try? XConnection(server.display).visibleWindows()) ?? []).contains { $0.width >= 320 }
            }
            #expect(hasWindow)
            try host.waitFor("viewer-joined")
            viewer.signal(SIGHUP, toGroup: false)
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        // MARK: Codes

        @Test func aCodeIsTakenAsItIsShown() throws {
            let host = try Program.share(
                .pattern + ["--code", "133 625"], ports: ports, accept: nil, machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            try host.waitForWords("Code to type at a new viewer: 133 625")
            let viewer = try Program.watch([ports.target, "--code", "133 625"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
        }

        @Test func noCodeIsShownWhenEverybodyIsLetIn() throws {
            let host = try Program.share(.pattern, ports: ports, accept: "all", machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitForWords("Every viewer is let in")
            #expect(Program.code(in: host.errorText) == nil, "\(host.errorText)")
        }

        @Test func aUsedCodeGetsThatReasonAtBothEnds() throws {
            let host = try Program.share(
                .pattern + ["--code", "482913", "--code-once"], ports: ports, accept: nil, machine: desk,
                input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--code", "482913"])
            defer { first.end() }
            try first.waitFor("first-frame")
            try host.waitForWords("This code was used. New code to type at a new viewer")
            let second = try Program.watch([ports.target, "--code", "482913"])
            defer { second.end() }
            #expect(try second.waitForEnd() == .exited(2))
            try host.waitForWords("was refused, and told: “That code has just let in somebody else")
        }

        @Test func aUsedCodeFromAFileGetsThatReasonAtTheViewer() throws {
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("482913"), "--code-once"], ports: ports, accept: "none",
                machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--code", "482913"])
            defer { first.end() }
            try first.waitFor("first-frame")
            try host.waitForWords("was used")
            // It asks without a code, so the host's own reason is shown.
            let second = try Program.watch([ports.target])
            defer { second.end() }
            #expect(try second.waitForEnd() == .exited(2))
            #expect(second.errorText.contains("was used"), "\(second.errorText)")
        }

        @Test func aViewerPairedOnceHasToBeLetInAgain() throws {
            let host = try Program.share(
                .pattern + ["--once", "--code-file", try desk.codeFile("482913")], ports: ports, accept: "none",
                machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let sofa = try Machine()
            let first = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            try first.waitFor("first-frame")
            try host.waitForWords("when it is started again, it has to be let in again")
            first.interrupt()
            _ = try first.waitForEnd()
            let again = try Program.watch([ports.target], machine: sofa)
            defer { again.end() }
            #expect(try again.waitForEnd() == .exited(2))
            let (_, help, _) = try Program.run(["share", "--help"])
            #expect(help.replacing(/\s+/, with: " ").contains("a viewer that is started again has to be let in again"))
        }

        // MARK: Names

        @Test func aDeviceIsForgottenUnderItsNameInAnyCase() throws {
            let host = try Program.share(
                .pattern + ["--name", "Desk Ä7", "--code-file", try desk.codeFile("482913")], ports: ports,
                accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let sofa = try Machine()
            let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("device-paired")
            viewer.interrupt()
            _ = try viewer.waitForEnd()
            #expect(try sofa.forget("desk").ending == .exited(1), "a part of the name isn't the name")
            #expect(try sofa.forget("“desk ä7”").ending == .exited(0))
            #expect(try sofa.devices().isEmpty)
        }

        // MARK: The machine

        @Test func aStateFolderThatCannotBeMadeIsNamed() throws {
            for state in ["/proc", "/dev/null/state"] {
                let (ending, _, words) = try Program.run(
                    ["share", "--no-discovery", "--port", "0", "--time-limit", "5"] + .pattern,
                    environment: ["XDG_STATE_HOME": state])
                #expect(ending == .exited(1), "\(words)")
                #expect(words.contains(state) && words.contains("XDG_STATE_HOME"), "\(words)")
                expectPlainWords(words)
            }
        }

        @Test func anAddressThatIsNoneIsNamed() throws {
            for address in ["nowhere.invalid", "999.1.1.1"] {
                let (ending, _, words) = try Program.run(
                    ["share", "--no-discovery", "--port", "0", "--bind", address, "--time-limit", "5"] + .pattern)
                #expect(ending == .exited(1), "\(words)")
                #expect(words.contains(address) && words.contains("--bind"), "\(words)")
                #expect(!words.contains("SocketAddressError"), "\(words)")
                expectPlainWords(words)
            }
        }
    }
}
