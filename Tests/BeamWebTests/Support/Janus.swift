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
        port = try Self.freePort()
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
        while Date() < end, !isListening { usleep(20_000) }
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

    private var isListening: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return Self.withAddress(port) { connect(descriptor, $0, $1) } == 0
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var port: UInt16 = 0
        let result = withAddress(0) { address, length in
            var length = length
            let result = bind(descriptor, address, length) | getsockname(descriptor, address, &length)
            port = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
            return result
        }
        try #require(result == 0)
        return port
    }
}
