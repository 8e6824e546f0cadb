import Foundation
import Testing

/// The program as a service of systemd: what it tells its manager and the journal, and the unit that starts it.
extension EndToEnd {
    @Suite(.needsProgram) struct ServiceTests {
        private let machine: Machine

        init() throws { machine = try Machine() }

        private func write(_ settings: String) throws {
            let folder = machine.settings + "/beamroom"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try settings.write(toFile: folder + "/config.toml", atomically: true, encoding: .utf8)
        }

        @Test func aServiceTellsHowItDoesAndReadsItsSettingsAgain() throws {
            let ports = try Ports()
            try write("[share]\naccept = \"none\"\n")
            let manager = try ServiceListener(machine.file("notify"))
            let journal = machine.file("journal")
            try Data().write(to: URL(filePath: journal))
            var status = stat()
            try #require(stat(journal, &status) == 0)
            // Without a terminal, as services are: SIGHUP means the terminal's end otherwise.
            let service = try ChildProcess(
                "setsid",
                [
                    "--wait", Program.path, "share", "--source", "pattern", "--size", "320x180", "--no-discovery",
                    "--name", "desk", "--port", "\(ports.control)", "--media-port", "\(ports.media)", "--time-limit",
                    "60", "--log-level", "debug",
                ],
                environment: [
                    "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "3000000",
                    "JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)", "DISPLAY": nil, "WAYLAND_DISPLAY": nil,
                    "XDG_STATE_HOME": machine.state, "XDG_CONFIG_HOME": machine.settings,
                    "XDG_RUNTIME_DIR": machine.runtime, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
                ], errors: .file(journal))
            defer { service.end() }
            #expect(try manager.wait(for: "READY=1").contains("STATUS=“desk” is shared"))
            _ = try manager.wait(for: "STATUS=“desk” is shared, and nobody watches")
            // More than one: the first could come from the start.
            for _ in 0..<2 { _ = try manager.wait(for: "WATCHDOG=1") }

            let said = try Program.run(["status", "--json"], machine: machine).output
            let process = try #require(Event(line: said)?.number("process")).rounded()
            try write("[share]\naccept = \"all\"\nmax-fps = 20\non-leave = \"touch '\(machine.file("left"))'\"\n")
            kill(pid_t(process), SIGHUP)
            _ = try manager.wait(for: "RELOADING=1")
            _ = try manager.wait(for: "READY=1")
            let viewer = try Program.watch([ports.target, "--name", "tablet"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))

            // A file that is wrong changes nothing.
            try write("[share]\naccept = \"some\"\n")
            kill(pid_t(process), SIGHUP)
            _ = try manager.wait(for: "RELOADING=1")
            _ = try manager.wait(for: "READY=1")
            kill(pid_t(process), SIGTERM)
            _ = try manager.wait(for: "STOPPING=1")
            #expect(try service.waitForEnd() == .exited(0))
            #expect(FileManager.default.fileExists(atPath: machine.file("left")))

            let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
            #expect(lines.allSatisfy { $0.hasPrefix("<") && $0.dropFirst(2).hasPrefix(">") }, "\(lines)")
            let now = "The settings and the paired devices were read again. In force now: accept, on-leave."
            #expect(lines.contains { $0 == "<5>\(now) From the next start on: max-fps." })
            #expect(
                lines.contains { $0.hasPrefix("<4>Warning: The settings weren't read again") && $0.contains("line 2") })
            #expect(lines.contains { $0.hasPrefix("<7>{") && $0.contains("\"event\":\"viewer-joined\"") })
            #expect(!lines.contains { $0.contains("\"event\":\"stats\"") })
        }

        @Test func onlyWarningsAreWrittenIfThatIsWanted() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--log-level", "warning"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            #expect(host.errorText.hasPrefix("Warning: Every viewer is let in"))
            #expect(!host.errorText.contains("\n"), "\(host.errorText)")
            let (ending, _, words) = try Program.run(["share", "--log-level", "loud"])
            #expect(ending == .exited(64) && words.contains("debug"))
        }

        @Test(
            .enabled(if: Tool.exists("systemd-analyze"), "systemd-analyze isn't installed (package systemd)"),
            arguments: [
                (["share", "--source", "pattern"], UserSystemd.unit),
                (["watch", "--wait", "--windowed"], UserSystemd.receiver),
            ])
        func aUnitIsWrittenThatSystemdTakes(command: [String], name: String) throws {
            let folder = machine.settings + "/systemd/user/"
            let (unit, link) = (folder + name, folder + "graphical-session.target.wants/" + name)
            let (ending, _, words) = try Program.run(
                command + ["--at-login", "--name", "50% of \"$HOME\""], machine: machine)
            #expect(ending == .exited(0) && words.contains(unit), "\(words)")
            let text = try String(contentsOfFile: unit, encoding: .utf8)
            let line = command.map { "\"\($0)\"" }.joined(separator: " ")
            #expect(
                text.contains(#"ExecStart="\#(Program.path)" \#(line) "--name" "50%% of \"$$HOME\"""#), "\(text)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == unit)
            let verified = try ChildProcess(
                "systemd-analyze", ["--user", "--man=no", "verify", unit],
                environment: ["XDG_RUNTIME_DIR": machine.runtime])
            #expect(try verified.waitForEnd() == .exited(0))
            #expect(verified.errorText == "", "\(verified.errorText)")

            // Once more: the new options take the place of the old ones.
            _ = try Program.run(command + ["--at-login", "on"], machine: machine)
            #expect(try String(contentsOfFile: unit, encoding: .utf8).contains("\(Program.path)\" \(line)\n"))
            let secret = try Program.run(command + ["--at-login", "--code", "271828"], machine: machine)
            #expect(secret.ending != .exited(0) && secret.words.contains("--code"))
            #expect(try !String(contentsOfFile: unit, encoding: .utf8).contains("271828"))
            for answer in ["doesn't start with your session any more", "so nothing was changed"] {
                let (ending, _, words) = try Program.run(command + ["--at-login", "off"], machine: machine)
                #expect(ending == .exited(0) && words.contains(answer), "\(words)")
            }
            for path in [unit, link] { #expect(access(path, F_OK) != 0) }
        }

        @Test(.enabled(if: UserSystemd.obstacle == nil, "no systemd for services: \(UserSystemd.obstacle ?? "")"))
        func systemdStartsItWithTheSession() throws {
            let ports = try Ports()
            let systemd = try UserSystemd(machine)
            // A desktop that starts after `--at-login` was given.
            let (ending, _, words) = try Program.run(
                [
                    "share", "--at-login", "--source", "pattern", "--size", "320x180", "--accept", "all",
                    "--no-discovery", "--name", "desk", "--port", "\(ports.control)", "--media-port", "\(ports.media)",
                ], environment: systemd.environment, machine: machine)
            #expect(ending == .exited(0) && words.contains("graphical-session.target"), "\(words)")
            try systemd.startSession()
            #expect(try systemd.wait(for: "ActiveState", "active"))
            #expect(try systemd.wait(for: "StatusText", "“desk” is shared, and nobody watches"))
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try systemd.wait(for: "StatusText", "“desk” is shared, and 1 watches"))
            try systemd.control("reload", UserSystemd.unit)
            #expect(try systemd.wait(for: "ActiveState", "active"))
            // A crash: it is there again, and the viewer goes on by itself.
            let process = try systemd.property("MainPID")
            try systemd.control("kill", "--signal=KILL", UserSystemd.unit)
            #expect(
                try systemd.wait {
                    try systemd.property("MainPID") != process && systemd.property("ActiveState") == "active"
                })
            try viewer.waitFor("reconnect")

            let off = try Program.run(
                ["share", "--at-login", "off"], environment: systemd.environment, machine: machine)
            #expect(off.ending == .exited(0))
            #expect(try systemd.wait(for: "LoadState", "not-found"))
        }

        /// Whoever has said no at the desktop isn't asked again and again.
        @Test(
            .enabled(if: UserSystemd.obstacle == nil, "no systemd for services: \(UserSystemd.obstacle ?? "")"),
            .enabled(if: DesktopMocks.obstacle == nil, Comment(rawValue: DesktopMocks.obstacle ?? "")))
        func aPersonWhoSaysNoEndsTheServiceForGood() throws {
            let mocks = try DesktopMocks()
            let bus = try #require(mocks.environment["DBUS_SESSION_BUS_ADDRESS"] ?? nil)
            let script = (#filePath as NSString).deletingLastPathComponent + "/../BeamCaptureTests/Support/portal.py"
            let portal = try ChildProcess("/usr/bin/python3", [script, bus, "refuse=Start"], input: .pipe)
            defer { portal.end() }
            try #require(portal.state.wait(timeout: 30) { $0.output.first } != nil, "\(portal.errorText)")
            let systemd = try UserSystemd(machine)
            try systemd.control("set-environment", "DBUS_SESSION_BUS_ADDRESS=\(bus)")
            _ = try Program.run(
                ["share", "--at-login", "--source", "portal", "--no-discovery", "--no-bluetooth", "--audio", "off"],
                environment: systemd.environment, machine: machine)
            try systemd.restartAtOnce(UserSystemd.unit)
            try systemd.startSession()
            #expect(try systemd.wait { try !systemd.property("ExecMainExitTimestampMonotonic").hasPrefix("0") })
            // Ten times as long as systemd would wait until it starts it again.
            pause(seconds: 1)
            #expect(portal.outputText.components(separatedBy: "\"Start\"").count == 2, "\(portal.outputText)")
            for (name, value) in [
                ("ActiveState", "inactive"), ("Result", "success"), ("ExecMainStatus", "0"), ("NRestarts", "0"),
            ] { #expect(try systemd.property(name) == value, "\(name)") }
        }
    }
}
