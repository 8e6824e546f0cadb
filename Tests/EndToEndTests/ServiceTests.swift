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
            let manager = try Manager(machine.file("notify"))
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

        @Test(.enabled(if: Tool.exists("systemd-analyze"), "systemd-analyze isn't installed (package systemd)"))
        func aUnitIsWrittenThatSystemdTakes() throws {
            let folder = machine.settings + "/systemd/user/"
            let unit = folder + "app-org.beamroom.BeamRoom.service"
            let link = folder + "graphical-session.target.wants/app-org.beamroom.BeamRoom.service"
            let name = "50% of \"$HOME\""
            let (ending, _, words) = try Program.run(
                ["share", "--name", name, "--at-login", "--source", "pattern"], machine: machine)
            #expect(ending == .exited(0) && words.contains(unit), "\(words)")
            let text = try String(contentsOfFile: unit, encoding: .utf8)
            #expect(
                text.contains(
                    #"ExecStart="\#(Program.path)" "share" "--name" "50%% of \"$$HOME\"" "--source" "pattern""#),
                "\(text)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == unit)
            let verified = try ChildProcess(
                "systemd-analyze", ["--user", "--man=no", "verify", unit],
                environment: ["XDG_RUNTIME_DIR": machine.runtime])
            #expect(try verified.waitForEnd() == .exited(0))
            #expect(verified.errorText == "", "\(verified.errorText)")

            // Once more: the new options take the place of the old ones.
            _ = try Program.run(["share", "--at-login", "on"], machine: machine)
            #expect(try String(contentsOfFile: unit, encoding: .utf8).contains("\(Program.path)\" \"share\"\n"))
            let secret = try Program.run(["share", "--at-login", "--code", "271828"], machine: machine)
            #expect(secret.ending == .exited(1) && secret.words.contains("--code-file"))
            #expect(try !String(contentsOfFile: unit, encoding: .utf8).contains("271828"))
            for answer in ["doesn't start with your session any more", "so nothing was changed"] {
                let (ending, _, words) = try Program.run(["share", "--at-login", "off"], machine: machine)
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
    }
}

/// A systemd for services (`Scripts/lib/user-systemd`), and a unit in the place of a desktop.
private final class UserSystemd: Sendable {
    static let unit = "app-org.beamroom.BeamRoom.service"
    private static let script =
        (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/lib/user-systemd"

    /// Nil if this machine can have one, otherwise why not.
    static let obstacle: String? = {
        guard let check = try? ChildProcess(script, ["check"]), let ending = try? check.waitForEnd() else {
            return "\(script) doesn't run"
        }
        return ending == .exited(0) ? nil : check.errorText
    }()

    private let process: ChildProcess
    /// For whoever is to reach it.
    let environment: [String: String?]
    private let units: String

    init(_ machine: Machine) throws {
        let folder = machine.file("systemd")
        units = machine.settings + "/systemd/user"
        try FileManager.default.createDirectory(atPath: units, withIntermediateDirectories: true)
        environment = ["XDG_RUNTIME_DIR": folder + "/runtime"]
        process = try ChildProcess(
            Self.script, ["run", folder],
            environment: [
                "XDG_STATE_HOME": machine.state, "XDG_CONFIG_HOME": machine.settings, "DISPLAY": nil,
                "WAYLAND_DISPLAY": nil,
            ])
        guard try wait(until: { try control("is-active", "--quiet", "basic.target") }) else {
            throw HarnessError("no systemd: \(process.errorText)")
        }
    }

    /// As a desktop does it.
    func startSession() throws {
        try "[Unit]\nBindsTo=graphical-session.target\n".write(
            toFile: units + "/desk.target", atomically: true, encoding: .utf8)
        guard try control("daemon-reload"), try control("start", "desk.target") else {
            throw HarnessError("no session: \(process.errorText)")
        }
    }

    private func run(_ arguments: [String]) throws -> (Bool, String) {
        let tool = try ChildProcess("systemctl", ["--user"] + arguments, environment: environment)
        let ending = try tool.waitForEnd()
        return (ending == .exited(0), tool.outputText)
    }

    @discardableResult func control(_ arguments: String...) throws -> Bool { try run(arguments).0 }

    func property(_ name: String) throws -> String { try run(["show", Self.unit, "--property", name, "--value"]).1 }

    /// Whether the unit's property comes to be that.
    func wait(for name: String, _ value: String) throws -> Bool { try wait { try property(name) == value } }

    func wait(until isSo: () throws -> Bool) throws -> Bool {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            if try isSo() { return true }
            usleep(50_000)
        }
        return false
    }
}

/// In systemd's place: receives what a service tells it.
private final class Manager: Sendable {
    let path: String
    private let socket: Int32

    init(_ path: String) throws {
        self.path = path
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard socket >= 0, path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw HarnessError("The path \(path) is too long for a socket.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound else { throw HarnessError.system("binding \(path)") }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// Reads until a message has this line; answers its lines.
    func wait(for line: String) throws -> [String] {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
            if lines.contains(line) { return lines }
        }
        throw HarnessError("“\(line)” didn't come.")
    }
}
