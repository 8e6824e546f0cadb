import CXCB
import Foundation
import Synchronization

struct X11TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A private X server without a visible screen (Xvfb). Ends with its owner.
final class X11TestServer: @unchecked Sendable {
    // Sendable: `Process` is started by `init` and ended under `lock` only; the rest is immutable.

    static let isAvailable = hasProgram("Xvfb")
    /// xdotool moves the pointer through an input device, as a person does.
    static let hasXdotool = hasProgram("xdotool")

    static func hasProgram(_ name: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// In DISPLAY's syntax: `:7`.
    let display: String
    private let process = Process()
    private let lock = Mutex(())

    /// - Parameter without: extensions to disable.
    init(width: Int = 640, height: Int = 480, depth: Int = 24, without: [String] = [], _ arguments: [String] = [])
        throws
    {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["Xvfb", "-displayfd", "1", "-screen", "0", "\(width)x\(height)x\(depth)", "-nolisten", "tcp", "-noreset"]
            + without.flatMap { ["-extension", $0] } + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Xvfb writes the number of its display when it accepts connections.
        var line = Data()
        while !line.contains(10) {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            line += part
        }
        let number = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !number.isEmpty else { throw X11TestFailure("Xvfb doesn't start") }
        display = ":" + number
    }

    deinit { kill() }

    func xdotool(_ arguments: String...) throws {
        let tool = Process()
        tool.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tool.arguments = ["xdotool"] + arguments
        tool.environment = ProcessInfo.processInfo.environment.merging(["DISPLAY": display]) { $1 }
        try tool.run()
        tool.waitUntilExit()
        guard tool.terminationStatus == 0 else { throw X11TestFailure("xdotool ends with \(tool.terminationStatus)") }
    }

    var pid: Int32 { process.processIdentifier }

    /// Kills the server while clients are connected.
    func kill() {
        lock.withLock { _ in
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }
}
