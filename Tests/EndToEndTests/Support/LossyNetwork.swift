import BeamMedia
import Foundation

/// Two machines with their own networks, joined by the laboratory's relay (`Lab/probes/relay`), which loses, delays
/// and limits packets by a seed.
final class LossyNetwork: Sendable {
    /// Nil if this machine can make such networks, otherwise what is missing.
    static let obstacle: String? = {
        if geteuid() != 0 { return "only root can make networks" }
        if !FileManager.default.fileExists(atPath: "/dev/net/tun") { return "there is no /dev/net/tun" }
        if !Tool.exists("cc") { return "there is no C compiler, which the relay is built with (package gcc)" }
        if !Tool.exists("ip") { return "ip isn't installed (package iproute2)" }
        do {
            try Tool.run("unshare", ["--net", "true"])
        } catch {
            return "this machine doesn't allow new networks"
        }
        return nil
    }()

    /// A machine: its network namespace, which lives as long as a process in it, and its identity.
    private struct End {
        let process: ChildProcess
        let machine: Machine

        var path: String { "/proc/\(process.pid)/ns/net" }

        init() throws {
            machine = try Machine()
            process = try ChildProcess(
                "unshare", ["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 180"])
            guard process.state.wait(timeout: 30, { $0.output.isEmpty ? nil : true }) == true else {
                throw HarnessError("no network of its own: \(process.errorText)")
            }
        }

        func start(
            _ arguments: [String], as other: Machine? = nil, limit: [String] = ["--time-limit", "60"],
            input: ChildProcess.Input = .none
        ) throws -> ProgramProcess {
            let machine = other ?? machine
            let process = try ChildProcess(
                "nsenter", ["--net=\(path)", Program.path] + arguments + limit,
                environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_STATE_HOME": machine.state],
                input: input)
            return ProgramProcess(wrapping: process, on: machine)
        }
    }

    static let hostAddress = "10.77.0.1"

    private let host: End
    private let viewer: End
    private let relay: ChildProcess
    private let scratch: ScratchDirectory

    /// `settings` apply in both directions from the beginning; changes apply `after` seconds from `begin`.
    init(_ settings: String, seed: Int = 1, changes: [(after: Double, settings: String)] = []) throws {
        scratch = try ScratchDirectory()
        let program = scratch.file("relay")
        let sources = (#filePath as NSString).deletingLastPathComponent + "/../../../Lab/probes/relay/"
        try Tool.run(
            "cc",
            ["-O2", "-o", program] + ["relay", "link", "settings", "tunnel"].map { "\(sources)\($0).c" }
                + ["-lm"])
        host = try End()
        viewer = try End()
        relay = try ChildProcess(
            program,
            [host.path, viewer.path, "--both", settings, "--seed", "\(seed)", "--time-limit", "120"]
                + changes.flatMap { ["--at", "\($0.after):\($0.settings)"] })
        guard relay.state.wait(timeout: 30, { $0.output.isEmpty ? nil : true }) == true else {
            throw HarnessError("the relay doesn't start: \(relay.errorText)")
        }
    }

    /// Starts the clock of the changes, and the counters.
    func begin() { relay.signal(SIGUSR1, toGroup: false) }

    /// Waits until a change was applied.
    func wait(for settings: String) throws {
        let isMade = relay.state.wait(timeout: 30) { state in
            state.output.contains { JSONValue($0)?["settings"]?.string == settings } ? true : nil
        }
        guard isMade == true else { throw HarnessError("the relay never came to \(settings)") }
    }

    /// Ends the relay. Answers its counters from host to viewer since `begin`.
    func end() throws -> [String: Double] {
        relay.interrupt()
        _ = try relay.waitForEnd()
        guard let line = relay.state.current.output.last, let forward = JSONValue(line)?["forward"] else {
            throw HarnessError("the relay has counted nothing: \(relay.outputText)")
        }
        return ["packets", "delivered", "lost", "queue", "down", "refused"].reduce(into: [:]) { counts, name in
            if case .number(let value)? = forward[name] { counts[name] = value }
        }
    }

    func share(_ arguments: [String]) throws -> ProgramProcess {
        let program = try host.start(
            ["share", "--json", "--no-discovery", "--bind", Self.hostAddress, "--accept", "all"] + arguments)
        try program.waitFor("ready")
        return program
    }

    /// With the identity of `machine`, so that there can be several viewers.
    func watch(
        _ arguments: [String], as machine: Machine? = nil, input: ChildProcess.Input = .none
    ) throws -> ProgramProcess {
        try viewer.start(
            ["watch", Self.hostAddress, "--json", "--no-window"] + arguments, as: machine, input: input)
    }

    /// The viewer's `beamroom doctor` about the host.
    func examine() throws -> ProgramProcess {
        try viewer.start(["doctor", Self.hostAddress, "--json"], limit: [])
    }
}
