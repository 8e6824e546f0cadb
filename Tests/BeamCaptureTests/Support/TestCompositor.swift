import Foundation

/// A Wayland compositor that plays what a real one seldom does (`compositor.py`). Ends with its owner.
final class TestCompositor: @unchecked Sendable {
    // Sendable: the fields below `condition` are accessed under its lock only; the rest is immutable.

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "compositor.py")
        .path

    /// The path of its socket.
    let socket: String
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "beam-way-\(UUID().uuidString.prefix(8))")
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let condition = NSCondition()
    private var lines: [String] = []
    private var rest = ""

    /// - Parameter settings: of `compositor.py`.
    init(_ settings: [String] = []) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        socket = folder.appending(path: "wayland").path
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [Self.script, socket] + settings
        process.standardInput = input
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [weak self] in self?.take($0.availableData) }
        try process.run()
        guard wait(for: { $0.first == "ready" }) else { throw X11TestFailure("compositor.py doesn't start") }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    func kill() {
        output.fileHandleForReading.readabilityHandler = nil
        guard process.isRunning else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private func take(_ data: Data) {
        condition.withLock {
            rest += String(decoding: data, as: UTF8.self)
            var parts = rest.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            rest = parts.removeLast()
            lines += parts
            condition.broadcast()
        }
    }

    /// What clients have asked for until now, without the answers to commands.
    var requests: [String] { condition.withLock { lines.filter { $0 != "done" && $0 != "ready" } } }

    /// Waits until `holds` is true for what it has written, at most 20 s.
    private func wait(for holds: ([String]) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !holds(lines) { if !condition.wait(until: deadline) { return holds(lines) } }
            return true
        }
    }

    func wait(forRequests holds: ([String]) -> Bool) -> Bool {
        wait(for: { holds($0.filter { $0 != "done" && $0 != "ready" }) })
    }

    /// Does it, and returns when it is done.
    func perform(_ command: String) throws {
        let before = condition.withLock { lines.filter { $0 == "done" }.count }
        input.fileHandleForWriting.write(Data("\(command)\n".utf8))
        guard wait(for: { $0.filter { $0 == "done" }.count > before }) else {
            throw X11TestFailure("“\(command)” isn't done")
        }
    }
}
