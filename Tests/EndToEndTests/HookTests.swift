import Foundation
import Testing

/// `--on-start`, `--on-join`, `--on-leave` and `--on-stop` in the real program.
extension EndToEnd {
    @Suite(.needsProgram) struct HookTests {
        /// A folder of the test's, in which commands write what they get.
        private final class Log {
            private let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-hooks-\(UUID())")

            init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
            deinit { try? FileManager.default.removeItem(at: folder) }

            var options: [String] {
                ["start", "join", "leave", "stop"].flatMap {
                    ["--on-\($0)", "(echo \($0); cat) >> '\(folder.path)/log'"]
                }
            }

            /// Each command that was run, with the event that it got.
            var entries: [(moment: String, event: [String: Any])] {
                let text = (try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)) ?? ""
                let lines = text.split(separator: "\n").map(String.init)
                return stride(from: 0, to: lines.count - 1, by: 2).map { index in
                    let object = try? JSONSerialization.jsonObject(with: Data(lines[index + 1].utf8))
                    return (lines[index], object as? [String: Any] ?? [:])
                }
            }
        }

        @Test func aHostRunsThem() throws {
            let log = try Log()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--code", "314159"] + log.options, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--code", "314159"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            try host.waitFor("viewer-left")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))

            let entries = log.entries
            #expect(entries.map(\.moment) == ["start", "join", "leave", "stop"])
            #expect(entries.map { $0.event["event"] as? String } == ["ready", "paired", "viewer-left", "summary"])
            let session = host.events("paired").first?.string("session")
            #expect(
                session != nil && entries.dropFirst().prefix(2).allSatisfy { $0.event["session"] as? String == session }
            )
            #expect(entries.last?.event["frames"] as? Int ?? 0 > 0)
        }

        @Test func aCommandThatHangsHoldsUpNobodyAndAFailureIsSaid() throws {
            let ports = try Ports()
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "320x180", "--code", "314159", "--on-start",
                    "echo the lamp is broken; exit 7", "--on-join", "sleep 600", "--on-leave", "true",
                ], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--code", "314159", "--time-limit", "3"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect(viewer.events("summary").first?.number("frames") ?? 0 > 30)
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let words = host.errorText
            #expect(words.contains("Warning: The command of --on-start has failed with status 7: the lamp is broken"))
            #expect(words.contains("Warning: The command of --on-join was ended after"))
        }

        /// What the program has open isn't the command's: neither the screen nor a socket.
        @Test func aCommandInheritsNothingButItsInputAndOutput() throws {
            let ports = try Ports()
            let desk = try XServer(width: 320, height: 200)
            let host = try Program.share(
                [
                    "--display", desk.display, "--code", "314159", "--web", "--on-start",
                    "for f in /proc/$$/fd/*; do echo -n \"${f##*/} \"; done; echo .; exit 3",
                ], ports: ports)
            defer { host.end() }
            try host.waitForWords("has failed with status 3: ")
            // 3 is the folder, which the shell reads.
            #expect(host.errorText.contains("has failed with status 3: 0 1 2 3 ."), "\(host.errorText)")
        }

        @Test func anEmptyCommandIsRefused() throws {
            for option in ["--on-start", "--on-join", "--on-leave", "--on-stop"] {
                let (ending, _, words) = try Program.run(["share", option, " "])
                #expect(ending == .exited(64))
                #expect(words.contains("\(option) takes a command, as the shell reads it."))
            }
        }
    }
}
