import Foundation
import Testing

/// Debian's Janus on loopback, as `Scripts/janus` runs it. Used by one thread.
final class Janus {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/janus")
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Scripts/janus").path

    let folder: URL
    /// `ws://127.0.0.1:PORT`, or `wss://`.
    let address: String
    private let port: UInt16
    private let arguments: [String]
    private var process: Process?

    init(_ arguments: [String] = [], scheme: String = "ws") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-janus-\(UUID().uuidString)")
        self.folder = folder
        // A port that was free a moment ago.
        port = try TestPort.free()
        address = "\(scheme)://127.0.0.1:\(port)"
        self.arguments = ["--no-install", "--folder", folder.path, "--port", "\(port)"] + arguments
        try start()
    }

    deinit {
        try? kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// For `--web-gateway-token-file`, and `--web-gateway-certificate` of one that is `--self-signed`.
    var tokenFile: String { folder.appending(path: "token").path }
    var certificate: String { folder.appending(path: "certificate.pem").path }

    func start() throws {
        let process = Process()
        process.executableURL = URL(filePath: Self.script)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        // Until it listens: far longer than any correct run takes.
        let end = Date(timeIntervalSinceNow: 60)
        while Date() < end, !TestPort.isOpen(port) { usleep(20_000) }
    }

    /// As a crash ends it: nothing is said. The script, whose signals the test's threads block, ends with it.
    func kill() throws {
        guard let process else { return }
        self.process = nil
        let text = try String(contentsOf: folder.appending(path: "pid"), encoding: .utf8)
        let pid = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(Foundation.kill(pid, SIGKILL) == 0)
        process.waitUntilExit()
    }
}
