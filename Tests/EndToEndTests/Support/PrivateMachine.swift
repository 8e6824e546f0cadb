import Foundation

/// A machine for discovery: its own network, message bus and Avahi daemon, so that nothing of a test is visible
/// outside. `Scripts/lib/private-avahi` makes and ends it, and needs root.
final class PrivateMachine: Sendable {
    /// Nil if this machine can make such machines, otherwise what is missing.
    static let obstacle: String? = {
        guard let check = try? ChildProcess(script, ["check"]), let ending = try? check.waitForEnd() else {
            return "\(script) doesn't run"
        }
        return ending == .exited(0) ? nil : check.errorText
    }()

    private static let script =
        (#filePath as NSString).deletingLastPathComponent + "/../../../Scripts/lib/private-avahi"

    /// Its address for machines on the same cable.
    let address: String
    private let directory: ScratchDirectory
    private let machine: Machine

    /// A machine on a new cable, or at the other end of another machine's.
    init(beside other: PrivateMachine? = nil, hasDaemon: Bool = true) throws {
        directory = try ScratchDirectory()
        machine = try Machine()
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

    /// Starts the program in this machine's network and on its bus, with the identity of `machine`.
    func start(
        _ arguments: [String], as machine: Machine? = nil, input: ChildProcess.Input = .none
    ) throws -> ProgramProcess {
        ProgramProcess(
            wrapping: try run(
                [Program.path] + arguments,
                environment: [
                    "XDG_STATE_HOME": (machine ?? self.machine).state,
                    "XDG_CONFIG_HOME": (machine ?? self.machine).settings,
                ], input: input))
    }

    /// What a command begins with that runs in this machine's network and on its bus.
    var prefix: [String] { [Self.script, "run", directory.path] }

    /// Starts a command in this machine's network and on its bus.
    func run(
        _ command: [String], environment: [String: String?] = [:], input: ChildProcess.Input = .none
    ) throws -> ChildProcess {
        // Each step of the script replaces itself by exec, so that the process number is the command's.
        try ChildProcess(
            prefix[0], prefix.dropFirst() + command,
            environment: environment.merging(["DISPLAY": nil]) { own, _ in own },
            input: input)
    }

    /// Runs `body` in this machine's network; its sockets stay there.
    func inNetwork<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let number = try String(contentsOfFile: directory.path + "/network.pid", encoding: .utf8)
        let path = "/proc/\(number.trimmingCharacters(in: .whitespacesAndNewlines))/ns/net"
        let outcome = Monitor<Swift.Result<Result, any Error>?>(nil)
        // A network namespace belongs to a thread; this thread ends afterwards.
        Thread.detachNewThread {
            outcome.set(
                Swift.Result {
                    // setns is a GNU extension, which Swift can't import.
                    typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
                    guard let symbol = dlsym(nil, "setns") else { throw HarnessError("this system has no setns") }
                    let setNamespace = unsafeBitCast(symbol, to: SetNamespace.self)
                    let networkNamespace: Int32 = 0x4000_0000
                    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
                    defer { close(descriptor) }
                    guard descriptor >= 0, setNamespace(descriptor, networkNamespace) == 0 else {
                        throw HarnessError.system("entering the network \(path)")
                    }
                    return try body()
                })
        }
        guard let result = outcome.wait(timeout: 30, { $0 }) else { throw HarnessError("\(path) can't be entered") }
        return try result.get()
    }

    /// A discoverable host of the test pattern on the default ports.
    func share(
        name: String, _ arguments: [String] = [], accept: String? = "all", as machine: Machine? = nil,
        input: ChildProcess.Input = .none
    ) throws -> ProgramProcess {
        let host = try start(
            ["share", "--json", "--time-limit", "60", "--name", name] + (accept.map { ["--accept", $0] } ?? [])
                + .pattern + arguments, as: machine, input: input)
        try host.waitFor("ready")
        return host
    }

    func watch(
        _ arguments: [String], as machine: Machine? = nil, input: ChildProcess.Input = .none
    ) throws -> ProgramProcess {
        try start(["watch", "--json", "--no-window", "--time-limit", "60"] + arguments, as: machine, input: input)
    }

    /// The output of `beamroom hosts` here after `wait` seconds.
    func hosts(wait: Double = 1.5) throws -> [Event] {
        let list = try start(["hosts", "--json", "--wait", "\(wait)"])
        defer { list.end() }
        guard try list.waitForEnd() == .exited(0) else { throw HarnessError("beamroom hosts: \(list.errorText)") }
        return list.events("host")
    }
}
