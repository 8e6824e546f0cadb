import BeamBus
import Foundation

/// A session bus of its own with a mock of the portal (`portal.py`). Ended in `deinit`.
final class MockPortal {
    /// What is missing to run these tests; nil if nothing.
    static let obstacle: String? = {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon") else {
            return "dbus-daemon isn't installed (package dbus-daemon)"
        }
        let check = Process()
        check.executableURL = URL(filePath: "/usr/bin/python3")
        check.arguments = ["-c", "import dbus, gi"]
        check.standardError = FileHandle.nullDevice
        try? check.run()
        check.waitUntilExit()
        return check.terminationStatus == 0 ? nil : "the mock can't run (package python3-dbusmock)"
    }()

    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "portal.py").path

    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "beam-portal-\(UUID().uuidString.prefix(8))")
    private let daemon = Process()
    private var mock: (process: Process, input: Pipe, output: Pipe)?

    var buses: BusAddresses { BusAddresses(system: nil, session: "unix:path=\(folder.path)/bus") }

    /// - Parameter settings: of `portal.py`; nil: nobody on the bus is the portal.
    init(_ settings: [String]?) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = """
            <busconfig><type>session</type><listen>unix:path=\(folder.path)/bus</listen><policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
            </policy></busconfig>
            """
        try configuration.write(to: folder.appending(path: "bus.conf"), atomically: true, encoding: .utf8)
        daemon.executableURL = URL(filePath: "/usr/bin/dbus-daemon")
        daemon.arguments = ["--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile", "--print-address"]
        let address = Pipe()
        daemon.standardOutput = address
        daemon.standardError = FileHandle.nullDevice
        try daemon.run()
        // It prints the address when it listens.
        guard !address.fileHandleForReading.availableData.isEmpty else {
            throw X11TestFailure("dbus-daemon doesn't start")
        }
        guard let settings, let session = buses.session else { return }
        let mock = (process: Process(), input: Pipe(), output: Pipe())
        mock.process.executableURL = URL(filePath: "/usr/bin/python3")
        mock.process.arguments = [Self.script, session] + settings
        mock.process.standardInput = mock.input
        mock.process.standardOutput = mock.output
        try mock.process.run()
        self.mock = mock
        _ = mock.output.fileHandleForReading.availableData
    }

    deinit {
        kill()
        Glibc.kill(daemon.processIdentifier, SIGKILL)
        daemon.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The desktop ends the session.
    func closeSession() { mock?.input.fileHandleForWriting.write(Data("close\n".utf8)) }

    /// The screen, which `locked` has locked, is unlocked.
    func unlock() { mock?.input.fileHandleForWriting.write(Data("unlock\n".utf8)) }

    /// Ends the portal.
    func kill() {
        guard let process = mock?.process, process.isRunning else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// What was called until now, as lines of JSON. Ends the portal.
    func calls() -> [String] {
        kill()
        let data = mock?.output.fileHandleForReading.readDataToEndOfFile() ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
