import Foundation

/// The program under test.
enum Program {
    /// `BEAMROOM`, or the program that was built next to these tests.
    static let path: String = {
        if let path = ProcessInfo.processInfo.environment["BEAMROOM"] { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/beamroom"
    }()

    static let isBuilt = FileManager.default.isExecutableFile(atPath: path)

    /// A host on ports of its own, unencrypted, that accepts everyone and isn't published. Options in `arguments` come after these.
    static func share(
        _ arguments: [String], ports: Ports, accept: String = "all", hasInput: Bool = false
    ) throws -> ProgramProcess {
        try ProgramProcess(
            [
                "share", "--json", "--no-discovery", "--allow-unencrypted", "--accept", accept,
                "--port", "\(ports.control)", "--media-port", "\(ports.media)",
            ] + limited(arguments), hasInput: hasInput)
    }

    /// A viewer; with `--no-window` unless `display` names the X display for its window.
    static func watch(_ arguments: [String], display: String? = nil) throws -> ProgramProcess {
        try ProgramProcess(
            ["watch", "--json", "--allow-unencrypted"] + (display.map { ["--display", $0] } ?? ["--no-window"])
                + limited(arguments))
    }

    /// Runs it to its end.
    static func run(_ arguments: [String], environment: [String: String?] = [:], timeout: Double = 20) throws
        -> (ending: ChildProcess.Ending, output: String, words: String)
    {
        let process = try ProgramProcess(arguments, environment: environment)
        defer { process.end() }
        let ending = try process.waitForEnd(timeout: timeout)
        return (ending, process.process.outputText, process.errorText)
    }

    /// Records the test pattern; each of its pictures bears its number, so that no two are the same.
    static func pattern(_ size: String, framesPerSecond: Int = 30, seconds: Int, in directory: ScratchDirectory) throws
        -> String
    {
        let path = directory.file("pattern-\(size).y4m")
        let (ending, _, words) = try run(
            ["pattern", path, "--size", size, "--fps", "\(framesPerSecond)", "--seconds", "\(seconds)"], timeout: 60)
        guard ending == .exited(0) else { throw HarnessError("beamroom pattern: \(ending)\n\(words)") }
        return path
    }

    /// However a test ends, nothing runs for longer than a minute.
    private static func limited(_ arguments: [String]) -> [String] {
        arguments.contains("--time-limit") ? arguments : arguments + ["--time-limit", "60"]
    }
}

/// A host's two ports.
struct Ports: Sendable {
    var control: UInt16
    var media: UInt16

    /// Two that nobody uses.
    init() throws {
        control = try FreePort.stream()
        media = try FreePort.datagram()
    }

    /// What `watch` takes.
    var target: String { "127.0.0.1:\(control)" }
}

/// A running `beamroom` and the events it has told.
final class ProgramProcess: Sendable {
    let process: ChildProcess
    /// What it keeps of its identity and its paired devices, unless the test names a place.
    private let state: ScratchDirectory?

    /// DISPLAY and the session's buses are left out, so that a test that forgets to name one fails instead of using the developer's.
    init(_ arguments: [String], environment: [String: String?] = [:], hasInput: Bool = false) throws {
        let state = environment["XDG_STATE_HOME"] == nil ? try ScratchDirectory() : nil
        self.state = state
        var variables: [String: String?] = ["DISPLAY": nil, "WAYLAND_DISPLAY": nil]
        if let state { variables["XDG_STATE_HOME"] = state.path }
        variables.merge(environment) { $1 }
        process = try ChildProcess(Program.path, arguments, environment: variables, hasInput: hasInput)
    }

    /// A process that runs the program in some other way, say in a network of its own.
    init(wrapping process: ChildProcess) {
        self.process = process
        state = nil
    }

    var pid: pid_t { process.pid }
    var errorText: String { process.errorText }
    var isRunning: Bool { process.isRunning }

    /// Everything so far; lines that are no JSON object with `event` and `t` are left out (see `unreadableLines`).
    var events: [Event] { process.state.current.output.compactMap(Event.init(line:)) }
    func events(_ name: String) -> [Event] { events.filter { $0.name == name } }

    var unreadableLines: [String] { process.state.current.output.filter { Event(line: $0) == nil } }

    /// The first event of that name from number `start` on that fits.
    @discardableResult
    func waitFor(
        _ name: String, from start: Int = 0, timeout: Double = 15, where fits: (Event) -> Bool = { _ in true }
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

    /// How many lines it has written: what comes later has this number or a higher one.
    var lineCount: Int { process.state.current.output.count }

    /// Waits for words on standard error.
    func waitForWords(_ words: String, timeout: Double = 15) throws {
        let found = process.state.wait(timeout: timeout) { state in
            state.errors.contains { $0.localizedCaseInsensitiveContains(words) } ? true : nil
        }
        guard found == true else {
            throw HarnessError(
                "\"\(words)\" isn't said within \(timeout.short) s; standard error so far:\n\(errorText)")
        }
    }

    func interrupt() { process.interrupt() }
    func kill() { process.kill() }
    func end() { process.end() }
    func waitForEnd(timeout: Double = 20) throws -> ChildProcess.Ending { try process.waitForEnd(timeout: timeout) }
}
