import Foundation
import Testing

/// What reads the program's output: another program that has enough, a terminal without typography, one of 60 columns.
extension EndToEnd {
    @Suite(.needsProgram) struct ReaderTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        /// Ends when `head` has its line, and `true` reads none; long before the time limit.
        @Test(arguments: [
            "share --source pattern --no-discovery --port PORT --media-port MEDIA --json --time-limit 100 | head -n 1",
            "share --source pattern --no-discovery --port PORT --media-port MEDIA --json --time-limit 100 | true",
            "watch 127.0.0.1:9 --no-window --json --time-limit 100 | head -n 1",
            "room study --no-watch --no-discovery --port PORT --media-port MEDIA --json --time-limit 100 | head -n 1",
            "hosts --wait 100 --json | true", "hosts --wait 100 | true", "devices --json | true", "devices | true",
        ])
        func theProgramEndsWithItsReader(_ line: String) throws {
            let command = line.replacing("PORT", with: "\(ports.control)").replacing("MEDIA", with: "\(ports.media)")
            let scratch = try ScratchDirectory()
            let begin = secondsNow()
            let shell = try ChildProcess(
                "bash", ["-c", "\"$0\" \(command); echo \"status ${PIPESTATUS[0]}\"", Program.path],
                environment: ["HOME": scratch.path, "XDG_STATE_HOME": scratch.path, "XDG_CONFIG_HOME": scratch.path])
            defer { shell.end() }
            #expect(try shell.waitForEnd(timeout: 60) == .exited(0))
            #expect(shell.outputText.contains("status 0"), "\(shell.outputText)\n\(shell.errorText)")
            #expect(secondsNow() - begin < 60)
        }

        @Test func aTerminalWithoutTypographyGetsPlainText() throws {
            let host = try Program.share(
                .pattern, ports: ports, environment: ["LC_ALL": "C"], input: .terminal)
            defer { host.end() }
            try host.waitForWords("320 x 180")
            host.interrupt()
            _ = try host.waitForEnd()
            #expect(host.errorText.utf8.allSatisfy { $0 < 0x80 }, "\(host.errorText)")
            let refused = try Program.run(["watch", "--help"], environment: ["LC_ALL": "C"])
            #expect(refused.output.utf8.allSatisfy { $0 < 0x80 })
        }

        /// In a terminal of 34 columns no word is broken, and no code.
        @Test func messagesBreakBetweenWords() throws {
            let scratch = try ScratchDirectory()
            let command =
                "stty cols 34 rows 30; '\(Program.path)' share --source pattern --no-discovery --no-bluetooth "
                + "--port \(ports.control) --media-port \(ports.media) --code 482913 --time-limit 2"
            let terminal = try ChildProcess(
                "script", ["-qefc", command, "/dev/null"],
                environment: ["HOME": scratch.path, "XDG_STATE_HOME": scratch.path, "XDG_CONFIG_HOME": scratch.path])
            defer { terminal.end() }
            #expect(try terminal.waitForEnd(timeout: 60) == .exited(0))
            let text = terminal.outputText.replacing(/\u{1B}\[[0-9;]*[A-Za-z]/, with: "")
            let lines = text.split(whereSeparator: \.isNewline).map(String.init)
            report("34 columns", text)
            #expect(lines.contains { $0.contains("482 913") } && lines.contains { $0.contains("1280 × 720") })
            #expect(lines.contains("Sharing the test pattern,"))
            for line in lines where !line.contains("/s ") && !line.contains("`") { #expect(line.count < 34, "\(line)") }
        }

        /// As `stream` of whisper.cpp writes into the host's pipe.
        @Test func aRecogniserThatRedrawsItsLineMakesOneCaption() throws {
            let pipe = try CaptionPipe()
            let host = try Program.share(.pattern + ["--captions", pipe.path], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let erase = "\u{1B}[2K\r" + String(repeating: " ", count: 100) + "\u{1B}[2K\r"
            for text in [" Good", " Good morn", " \u{1B}[38;5;71mGood\u{1B}[0m morning, everybody."] {
                try pipe.write(erase + text)
                pause(seconds: 0.3)
            }
            try pipe.write("\nThe next line.\n")
            try viewer.waitFor("caption") { $0.fields["text"]?.string == "The next line." }
            #expect(viewer.captions == ["Good morning, everybody.", "The next line."])
            let partials = viewer.roomEvents("caption").filter { $0.fields["partial"] == .bool(true) }.map(\.text)
            #expect(partials.contains("Good morn") && !partials.contains { $0.contains("[") })
        }

        @Test(.enabled(if: SoundServer.isAvailable, "there is no pulseaudio"))
        func aSoundDeviceThatIsNotThereEndsWithThoseThatAre() throws {
            let server = try SoundServer()
            let host = try Program.share(
                .pattern + ["--audio", "nosuch"], ports: ports, environment: server.environment)
            defer { host.end() }
            #expect(try host.waitForEnd() == .exited(1))
            for part in [
                "no sound device “nosuch”", "--audio", "a (Sink-a, what it plays)", "b (Sink-b, what it plays)",
            ] {
                #expect(host.errorText.contains(part), "\(host.errorText)")
            }
            expectPlainWords(host.errorText)
            // The output's name, that of its monitor and its description are all good.
            for name in ["b", "b.monitor", "Sink-b"] {
                let other = try Program.share(
                    .pattern + ["--audio", name, "--time-limit", "2"], ports: ports, environment: server.environment)
                defer { other.end() }
                #expect(try other.waitForEnd() == .exited(0), "\(other.errorText)")
            }
        }
    }
}
