import Foundation
import Testing

/// A simulated machine (`Scripts/lib/private-avahi`) with its own D-Bus, Avahi daemon and network.
///
/// libdbus reads the bus address once per process, and other tests' libraries use it too. So tests that use a machine
/// run in an exit test, a process of its own, which calls `use` first.
struct PrivateMachine: Codable, Sendable {
    let folder: String

    /// What is missing to run these tests; nil if nothing.
    static let obstacle: String? = {
        let checked = command(script, ["check"])
        guard checked.status == 0 else { return checked.output }
        let utilities = ["avahi-publish", "avahi-browse"].filter { command("/usr/bin/env", ["which", $0]).status != 0 }
        return utilities.isEmpty ? nil : "missing: \(utilities.joined(separator: ", "))"
    }()

    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Scripts/lib/private-avahi").standardized.path

    /// Runs `body` with one machine or two connected ones, and removes them afterwards.
    static func with(
        _ count: Int = 1, options: [String] = [], _ body: ([PrivateMachine]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "beam-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let machines = (1...count).map { PrivateMachine(folder: folder.appendingPathComponent("\($0)").path) }
        defer { for machine in machines { machine.perform("stop") } }
        for (index, machine) in machines.enumerated() {
            let started = command(
                script, ["start", machine.folder] + (index > 0 ? ["--beside", machines[0].folder] : []) + options)
            try #require(started.status == 0, "\(started.output)")
        }
        try await body(machines)
    }

    /// Makes this process use the machine's D-Bus.
    func use() { setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=\(folder)/bus", 1) }

    /// `stop-daemon`, `start-daemon`, `restart-daemon`, `stop-bus`, `start-bus`, `stop`.
    func perform(_ action: String) {
        let done = Self.command(Self.script, [action, folder])
        #expect(done.status == 0, "\(action): \(done.output)")
    }

    /// Runs a command on the machine. Returns its output.
    func run(_ arguments: String...) -> String { Self.command(Self.script, ["run", folder] + arguments).output }

    /// Starts a command on the machine that runs until it is ended.
    func start(_ arguments: String...) throws -> RunningCommand {
        try RunningCommand(Self.script, ["run", folder] + arguments)
    }

    /// The Avahi daemon's pid.
    var daemon: pid_t? {
        (try? String(contentsOfFile: "\(folder)/avahi.pid", encoding: .utf8))
            .flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    private static func command(_ path: String, _ arguments: [String]) -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        do { try process.run() } catch { return (127, "\(path): \(error)") }
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

/// Ended in `deinit`.
final class RunningCommand {
    private let process = Process()

    init(_ path: String, _ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit { end() }

    func end() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}

/// Events in the order of arrival.
final class EventLog<Event: Sendable>: @unchecked Sendable {
    // Sendable: `events` is accessed under `condition`'s lock only.
    private let condition = NSCondition()
    private var events: [Event] = []

    func add(_ event: Event) {
        condition.withLock {
            events.append(event)
            condition.broadcast()
        }
    }

    var all: [Event] { condition.withLock { events } }

    /// Waits for an event after the first `skipping` that fits; records an issue with the actual events if none comes.
    func wait(_ what: String, skipping: Int = 0, _ fits: (Event) -> Bool) throws -> Event {
        // Much longer than any of these takes even on a slow machine.
        let deadline = Date(timeIntervalSinceNow: 60)
        return try condition.withLock {
            while true {
                if let event = events.dropFirst(skipping).first(where: fits) { return event }
                guard condition.wait(until: deadline) else {
                    // Errors thrown in an exit test aren't shown, recorded issues are.
                    Issue.record("\(what) hasn't come; what has: \(events)")
                    throw Missing()
                }
            }
        }
    }

    struct Missing: Error {}
}
