import Foundation

/// A systemd for services (`Scripts/lib/user-systemd`), and a unit in the place of a desktop.
final class UserSystemd: Sendable {
    /// The units that `--at-login` of `share` and of `watch --wait` writes.
    static let unit = "app-org.beamroom.BeamRoom.service"
    static let receiver = "app-org.beamroom.BeamRoom@receiver.service"

    private static let script =
        (#filePath as NSString).deletingLastPathComponent + "/../../../Scripts/lib/user-systemd"

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

    deinit {
        // Its services aren't in its process group, so that it has to end them itself.
        process.signal(SIGTERM, toGroup: false)
        _ = try? process.waitForEnd()
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

    func property(_ name: String, of unit: String = unit) throws -> String {
        try run(["show", unit, "--property", name, "--value"]).1
    }

    /// Whether the unit's property comes to be that.
    func wait(for name: String, _ value: String, of unit: String = unit) throws -> Bool {
        try wait { try property(name, of: unit) == value }
    }

    /// The unit is started again at once after a failure, as a test doesn't wait 5 s. Before the unit is started.
    func restartAtOnce(_ unit: String) throws {
        let folder = "\(units)/\(unit).d"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "[Service]\nRestartSec=100ms\n".write(toFile: folder + "/soon.conf", atomically: true, encoding: .utf8)
    }

    func wait(until isSo: () throws -> Bool) throws -> Bool {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            if try isSo() { return true }
            usleep(50_000)
        }
        return false
    }
}
