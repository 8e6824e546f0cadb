import Foundation
import Testing

/// A receiver that systemd starts (`watch --wait --at-login`).
extension EndToEnd {
    @Suite(.needsProgram) struct ReceiverServiceTests {
        private let hall: Machine
        private let sofa: Machine
        private let port: UInt16

        init() throws {
            (hall, sofa) = (try Machine(), try Machine())
            port = try FreePort.stream()
        }

        private var waiting: [String] {
            [
                "watch", "--wait", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(port)", "--name", "Hall",
                "--no-audio",
            ]
        }

        private func send(_ arguments: [String] = []) throws -> ProgramProcess {
            try Program.share(
                .pattern + ["--name", "Sofa", "--to", "127.0.0.1:\(port)"] + arguments, ports: Ports(), accept: "none",
                machine: sofa)
        }

        /// A service shows its code in its window only, so that a receiver in a terminal pairs the two.
        private func pair() throws {
            let receiver = try ProgramProcess(
                waiting + ["--no-window", "--json", "--time-limit", "60"], machine: hall, input: .terminal)
            defer { receiver.end() }
            try receiver.waitFor("waiting")
            let sender = try send(["--to-code-file", sofa.codeFile(receiver.shownCode())])
            defer { sender.end() }
            try receiver.waitFor("first-frame")
        }

        @Test func itTellsHowItDoesAndReadsItsSendersAgain() throws {
            try pair()
            let systemd = try ServiceListener(hall.file("notify"))
            let receiver = try ChildProcess(
                "setsid", ["--wait", Program.path] + waiting + ["--no-window", "--json", "--time-limit", "60"],
                environment: [
                    "NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "3000000", "DISPLAY": nil, "WAYLAND_DISPLAY": nil,
                    "XDG_STATE_HOME": hall.state, "XDG_CONFIG_HOME": hall.settings, "XDG_RUNTIME_DIR": hall.runtime,
                ])
            defer { receiver.end() }
            #expect(try systemd.wait(for: "READY=1").contains("STATUS=Waiting for a sender"))
            for _ in 0..<2 { _ = try systemd.wait(for: "WATCHDOG=1") }
            let sender = try send()
            defer { sender.end() }
            _ = try systemd.wait(for: "STATUS=Shows “Sofa”")
            // `setsid` forks, because it leads a group of processes.
            let process = try #require(
                Int32(
                    try Tool.run("pgrep", ["-P", "\(receiver.pid)"])
                        .split(separator: "\n").last ?? ""))
            kill(process, SIGHUP)
            _ = try systemd.wait(for: "RELOADING=1")
            #expect(try systemd.wait(for: "READY=1").contains("STATUS=Shows “Sofa”"))
            kill(process, SIGTERM)
            _ = try systemd.wait(for: "STOPPING=1")
            #expect(try receiver.waitForEnd() == .exited(0))
            #expect(receiver.errorText.contains("The settings and the paired devices were read again: nothing has"))
        }

        /// Beside a share, and after its display has gone and is there again.
        @Test(
            .needsXServer,
            .enabled(if: UserSystemd.obstacle == nil, "no systemd for services: \(UserSystemd.obstacle ?? "")"))
        func systemdStartsItAndItComesBackWithItsDisplay() throws {
            try pair()
            let screen = try XServer(width: 640, height: 360)
            let systemd = try UserSystemd(hall)
            try systemd.control("set-environment", "DISPLAY=\(screen.display)")
            let ports = try Ports()
            for command in [
                waiting + ["--at-login"],
                [
                    "share", "--at-login", "--no-discovery", "--accept", "none", "--port", "\(ports.control)",
                    "--media-port", "\(ports.media)",
                ] + .pattern,
            ] {
                let (ending, _, words) = try Program.run(command, environment: systemd.environment, machine: hall)
                #expect(ending == .exited(0) && words.contains("graphical-session.target"), "\(words)")
            }
            try systemd.restartAtOnce(UserSystemd.receiver)
            try systemd.startSession()
            func status(_ text: String) throws -> Bool {
                try systemd.wait(for: "StatusText", text, of: UserSystemd.receiver)
            }
            #expect(try status("Waiting for a sender"))
            #expect(try systemd.wait(for: "ActiveState", "active"))
            let empty = try Screenshot.take(of: screen.display)
            screen.kill()
            #expect(try status("Waiting for the display"))
            let again = try XServer(width: 640, height: 360, [screen.display])
            #expect(again.display == screen.display)
            #expect(try status("Waiting for a sender"))
            for (name, value) in [("ActiveState", "active"), ("NRestarts", "1")] {
                #expect(try systemd.property(name, of: UserSystemd.receiver) == value, "\(name)")
            }
            let sender = try send()
            defer { sender.end() }
            #expect(try status("Shows “Sofa”"))
            #expect(try eventually(timeout: 20) { try Screenshot.take(of: again.display) != empty })

            let off = try Program.run(
                ["watch", "--wait", "--at-login", "off"], environment: systemd.environment, machine: hall)
            #expect(off.ending == .exited(0))
            #expect(try systemd.wait(for: "LoadState", "not-found", of: UserSystemd.receiver))
            #expect(try sender.waitForEnd() == .exited(0))
            #expect(try systemd.property("ActiveState") == "active")
        }
    }
}
