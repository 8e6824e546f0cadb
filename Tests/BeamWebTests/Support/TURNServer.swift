import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// Debian's coturn at an address of this machine, by TCP.
final class TURNServer {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/turnserver")
    /// Browsers look for relays by the networks' addresses, and not by loopback's.
    static let address = OwnAddresses.all().lazy.compactMap { address -> UInt32? in
        if case .v4(let number) = address, !address.isLoopback { number } else { nil }
    }.first

    let url: String
    private let folder: URL
    private let process = Process()

    init(secret: String) throws {
        let number = try #require(Self.address)
        let address = "\(IPAddress.v4(number))"
        let port = try TestPort.free()
        url = "turn:\(address):\(port)?transport=tcp"
        folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-turn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: "/usr/bin/turnserver")
        process.arguments = [
            "-n", "--use-auth-secret", "--static-auth-secret", secret, "--realm", "beamroom", "--listening-ip", address,
            "--relay-ip", address, "--listening-port", "\(port)", "--no-udp", "--no-tls", "--no-dtls", "--no-cli",
            "--userdb", folder.appending(path: "users").path, "--pidfile", folder.appending(path: "pid").path,
            "--log-file", folder.appending(path: "log").path, "--simple-log",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Until it listens: far longer than any correct run takes.
        let end = Date(timeIntervalSinceNow: 60)
        while Date() < end, !TestPort.isOpen(port, at: number) { usleep(20_000) }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
