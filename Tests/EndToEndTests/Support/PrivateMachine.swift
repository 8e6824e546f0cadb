import Foundation

/// A machine for discovery: network, message bus and Avahi daemon of its own, so that nothing of a test is seen outside of it.
///
/// Made and ended by `Scripts/lib/private-avahi`, which needs root.
final class PrivateMachine: Sendable {
    /// Nil when this machine can make such machines, else what is missing.
    static let obstacle: String? = {
        guard let check = try? ChildProcess(script, ["check"]), let ending = try? check.waitForEnd() else {
            return "\(script) doesn't run"
        }
        return ending == .exited(0) ? nil : check.errorText
    }()

    private static let script =
        (#filePath as NSString).deletingLastPathComponent + "/../../../Scripts/lib/private-avahi"

    /// Where other machines on the same cable reach it.
    let address: String
    private let directory: ScratchDirectory

    /// A machine on a cable of its own, or at the other end of another one's.
    init(beside other: PrivateMachine? = nil, hasDaemon: Bool = true) throws {
        directory = try ScratchDirectory()
        address = other == nil ? "10.77.0.1" : "10.77.0.2"
        try Tool.run(
            Self.script,
            ["start", directory.path] + (other.map { ["--beside", $0.directory.path] } ?? [])
                + (hasDaemon ? [] : ["--no-daemon"]))
    }

    deinit { _ = try? Tool.run(Self.script, ["stop", directory.path]) }

    func restartDaemon() throws { try Tool.run(Self.script, ["restart-daemon", directory.path]) }
    func stopDaemon() throws { try Tool.run(Self.script, ["stop-daemon", directory.path]) }
    func startDaemon() throws { try Tool.run(Self.script, ["start-daemon", directory.path]) }

    /// The program, in this machine's network and on its bus.
    func start(_ arguments: [String]) throws -> ProgramProcess {
        // Each step of the script replaces itself with the next: the process's number is the program's in the end.
        ProgramProcess(
            wrapping: try ChildProcess(
                Self.script, ["run", directory.path, Program.path] + arguments,
                environment: ["DISPLAY": nil, "XDG_STATE_HOME": directory.path + "/state"]))
    }

    /// An announced host of the test pattern, on the default ports.
    func share(name: String, _ arguments: [String] = []) throws -> ProgramProcess {
        let host = try start(
            [
                "share", "--json", "--allow-unencrypted", "--accept", "all", "--time-limit", "60", "--name", name,
                "--source", "pattern", "--size", "320x180", "--max-fps", "30",
            ] + arguments)
        try host.waitFor("ready")
        return host
    }

    func watch(_ arguments: [String]) throws -> ProgramProcess {
        try start(["watch", "--json", "--allow-unencrypted", "--no-window", "--time-limit", "60"] + arguments)
    }

    /// What `beamroom hosts` lists here after so many seconds.
    func hosts(wait: Double = 1.5) throws -> [Event] {
        let list = try start(["hosts", "--json", "--wait", "\(wait)"])
        defer { list.end() }
        guard try list.waitForEnd() == .exited(0) else { throw HarnessError("beamroom hosts: \(list.errorText)") }
        return list.events("host")
    }
}
