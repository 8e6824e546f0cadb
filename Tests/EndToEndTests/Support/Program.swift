import Foundation

/// The program under test.
enum Program {
    /// `BEAMROOM`, or the program that was built beside these tests.
    static let path: String = {
        if let path = ProcessInfo.processInfo.environment["BEAMROOM"] { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/beamroom"
    }()

    static let isBuilt = FileManager.default.isExecutableFile(atPath: path)

    /// A host on its own ports that accepts everyone and isn't announced. `arguments` come last.
    static func share(
        _ arguments: [String], ports: Ports, accept: String? = "all", environment: [String: String?] = [:],
        machine: Machine? = nil, input: ChildProcess.Input = .none, output: ChildProcess.Outlet = .read,
        errors: ChildProcess.Outlet = .read
    ) throws -> ProgramProcess {
        try ProgramProcess(
            ["share", "--json", "--no-discovery", "--port", "\(ports.control)", "--media-port", "\(ports.media)"]
                + (accept.map { ["--accept", $0] } ?? []) + limited(arguments), environment: environment,
            machine: machine, input: input, output: output, errors: errors)
    }

    /// A viewer, with `--no-window` unless `display` names an X display.
    static func watch(
        _ arguments: [String], display: String? = nil, environment: [String: String?] = [:], machine: Machine? = nil,
        input: ChildProcess.Input = .none, output: ChildProcess.Outlet = .read, errors: ChildProcess.Outlet = .read
    ) throws -> ProgramProcess {
        try ProgramProcess(
            ["watch", "--json"] + (display.map { ["--display", $0] } ?? ["--no-window"]) + limited(arguments),
            environment: environment, machine: machine, input: input, output: output, errors: errors)
    }

    /// A relay of the host at this address.
    static func relay(
        _ target: String, _ arguments: [String] = [], ports: Ports, machine: Machine? = nil
    ) throws -> ProgramProcess {
        try ProgramProcess(
            [
                "relay", "--json", "--no-discovery", "--no-bluetooth", "--port", "\(ports.control)", "--media-port",
                "\(ports.media)", "--accept", "all", target,
            ] + limited(arguments), machine: machine, input: .pipe)
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], environment: [String: String?] = [:], machine: Machine? = nil, timeout: Double = 30
    ) throws -> (ending: ChildProcess.Ending, output: String, words: String) {
        let process = try ProgramProcess(arguments, environment: environment, machine: machine)
        defer { process.end() }
        let ending = try process.waitForEnd(timeout: timeout)
        return (ending, process.process.outputText, process.errorText)
    }

    /// Records the test pattern. Each picture shows its number, so that no two are the same.
    static func pattern(_ size: String, framesPerSecond: Int = 30, seconds: Int, in directory: ScratchDirectory) throws
        -> String
    {
        let path = directory.file("pattern-\(size).y4m")
        let (ending, _, words) = try run(
            ["pattern", path, "--size", size, "--fps", "\(framesPerSecond)", "--seconds", "\(seconds)"], timeout: 60)
        guard ending == .exited(0) else { throw HarnessError("beamroom pattern: \(ending)\n\(words)") }
        return path
    }

    /// However a test ends, no process runs longer than a minute.
    private static func limited(_ arguments: [String]) -> [String] {
        arguments.contains("--time-limit") ? arguments : arguments + ["--time-limit", "60"]
    }
}

/// A host's two ports.
struct Ports: Sendable {
    var control: UInt16
    var media: UInt16

    /// Two free ports.
    init() throws {
        control = try FreePort.stream()
        media = try FreePort.datagram()
    }

    /// The argument for `watch`.
    var target: String { "127.0.0.1:\(control)" }
}

/// The state that runs of the program on one machine share: identity key and known devices.
final class Machine: Sendable {
    private let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// XDG_RUNTIME_DIR.
    var runtime: String { directory.file("runtime") }
    /// XDG_STATE_HOME.
    var state: String { directory.file("state") }
    /// XDG_CONFIG_HOME. There is no file of settings unless the test writes one.
    var settings: String { directory.file("settings") }
    /// The program's folder in `state`.
    var store: String { state + "/beamroom" }
    func file(_ name: String) -> String { directory.file(name) }

    /// A file that contains a code, for `--code-file`.
    func codeFile(_ code: String) throws -> String {
        let path = file("code")
        try Data((code + "\n").utf8).write(to: URL(fileURLWithPath: path))
        guard chmod(path, 0o600) == 0 else { throw HarnessError.system("chmod \(path)") }
        return path
    }

    /// The output of `beamroom devices`.
    func devices() throws -> [Event] {
        let (ending, output, words) = try Program.run(["devices", "list", "--json"], machine: self)
        guard ending == .exited(0) else { throw HarnessError("beamroom devices: \(ending)\n\(words)") }
        return output.split(separator: "\n").compactMap { Event(line: String($0)) }
    }

    /// Runs `beamroom devices forget`. Answers its ending and its messages.
    @discardableResult
    func forget(_ name: String) throws -> (ending: ChildProcess.Ending, words: String) {
        let (ending, _, words) = try Program.run(["devices", "forget", name], machine: self)
        return (ending, words)
    }
}

/// A running `beamroom`, and its events.
final class ProgramProcess: Sendable {
    let process: ChildProcess
    /// Kept while the process runs.
    private let machine: Machine?

    /// Uses a new machine unless the test names one. DISPLAY and the session's buses are removed, so that a test that
    /// forgets to set them fails instead of using the developer's; nor are the developer's settings used.
    init(
        _ arguments: [String], environment: [String: String?] = [:], machine: Machine? = nil,
        input: ChildProcess.Input = .none, output: ChildProcess.Outlet = .read, errors: ChildProcess.Outlet = .read
    ) throws {
        let machine = try machine ?? Machine()
        self.machine = machine
        var variables: [String: String?] = [
            "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_SESSION_TYPE": nil, "XDG_STATE_HOME": machine.state,
            "XDG_CONFIG_HOME": machine.settings,
            // Never the developer's sound.
            "PULSE_SERVER": "unix:" + machine.file("no-sound-server"),
            // Nor notices on the developer's desktop, nor questions there.
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + machine.file("no-bus"), "XDG_RUNTIME_DIR": machine.runtime,
        ]
        variables.merge(environment) { $1 }
        process = try ChildProcess(
            Program.path, arguments, environment: variables, input: input, output: output, errors: errors)
    }

    /// A process that runs the program in some other way, for example in its own network.
    init(wrapping process: ChildProcess, on machine: Machine? = nil) {
        self.process = process
        self.machine = machine
    }

    var pid: pid_t { process.pid }
    var errorText: String { process.errorText }
    var isRunning: Bool { process.isRunning }

    /// All events so far. Lines that aren't a JSON object with `event` and `t` are left out (see `unreadableLines`).
    var events: [Event] { process.state.current.output.compactMap(Event.init(line:)) }
    func events(_ name: String) -> [Event] { events.filter { $0.name == name } }

    var unreadableLines: [String] { process.state.current.output.filter { Event(line: $0) == nil } }

    /// Waits for the first matching event of that name from line `start` on.
    @discardableResult
    func waitFor(
        _ name: String, from start: Int = 0, timeout: Double = 30, where fits: (Event) -> Bool = { _ in true }
    ) throws -> Event {
        let found: Event?? = process.state.wait(timeout: timeout) { state -> Event?? in
            for line in state.output.dropFirst(start) {
                if let event = Event(line: line), event.name == name, fits(event) { return .some(event) }
            }
            return state.ending != nil && state.openStreams == 0 ? .some(nil) : nil
        }
        if let event = found ?? nil { return event }
        let state = process.state.current
        throw HarnessError(
            """
            no event "\(name)" \(state.ending.map { "before the end (\($0))" } ?? "within \(timeout.short) s"); \
            standard output so far:
            \(state.output.suffix(12).joined(separator: "\n"))
            standard error so far:
            \(state.errors.suffix(20).joined(separator: "\n"))
            """)
    }

    /// The number of lines so far: later lines have this number or a higher one.
    var lineCount: Int { process.state.current.output.count }

    /// Waits for a text on standard error.
    func waitForWords(_ words: String, from first: Int = 0, timeout: Double = 30) throws {
        let found = process.state.wait(timeout: timeout) { state in
            state.errors.dropFirst(first).contains { $0.localizedCaseInsensitiveContains(words) } ? true : nil
        }
        guard found == true else {
            throw HarnessError(
                "\"\(words)\" isn't said within \(timeout.short) s; standard error so far:\n\(errorText)")
        }
    }

    func interrupt() { process.interrupt() }
    func kill() { process.kill() }
    func end() { process.end() }
    func waitForEnd(timeout: Double = 30) throws -> ChildProcess.Ending { try process.waitForEnd(timeout: timeout) }
}
