import CXCB
import Foundation
import Synchronization

struct X11TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// An X server of a test's own, without a screen anyone sees. Ends with its owner.
final class X11TestServer: @unchecked Sendable {
    // Sendable: `Process` is started by `init` and ended under `lock` only; the rest is immutable.

    static let isAvailable = hasProgram("Xvfb")
    /// Moves the pointer as a person does, through a device.
    static let hasXdotool = hasProgram("xdotool")

    private static func hasProgram(_ name: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// `:7`, as DISPLAY has it.
    let display: String
    private let process = Process()
    private let lock = Mutex(())

    /// `without`: extensions that the server is to lack.
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
        // The server writes the number of the display it has found free once it takes connections.
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

    /// Ends the server under its clients' feet.
    func kill() {
        lock.withLock { _ in
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }
}
