import BeamBus
import BeamDesktop
import Foundation
import Synchronization
import Testing

/// A message bus of its own, with mocks of desktop services (`desk.py`). Ended in `deinit`.
final class PrivateBus {
    /// What is missing to run these tests; nil if nothing.
    static let obstacle: String? = {
        let modules = run("/usr/bin/python3", ["-c", "import dbus, dbusmock, gi"])
        guard modules == 0 else { return "python3-dbusmock isn't installed" }
        return FileManager.default.isExecutableFile(atPath: daemonPath) ? nil : "dbus-daemon isn't installed"
    }()

    private static let daemonPath = "/usr/bin/dbus-daemon"
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "desk.py").path

    let folder = FileManager.default.temporaryDirectory.appending(path: "beam-desk-\(UUID().uuidString.prefix(8))")
    private var daemon: Process?
    private var desk: Desk?

    var address: String { "unix:path=\(folder.path)/bus" }

    /// - Parameter isRunning: otherwise only the address exists, until `start`.
    init(isRunning: Bool = true) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = """
            <busconfig><type>session</type><listen>\(address)</listen><policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
            </policy></busconfig>
            """
        try configuration.write(to: folder.appending(path: "bus.conf"), atomically: true, encoding: .utf8)
        if isRunning { try start() }
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func start() throws {
        let daemon = Process()
        daemon.executableURL = URL(filePath: Self.daemonPath)
        daemon.arguments = [
            "--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile", "--nosyslog", "--print-address",
        ]
        let address = Pipe()
        daemon.standardInput = FileHandle.nullDevice
        daemon.standardOutput = address
        daemon.standardError = FileHandle.nullDevice
        try daemon.run()
        self.daemon = daemon
        // It prints the address when it listens.
        try #require(!address.fileHandleForReading.availableData.isEmpty, "dbus-daemon has ended")
        desk = try Desk(script: Self.script, address: self.address)
    }

    func stop() {
        desk?.end()
        desk = nil
        daemon?.kill()
        daemon = nil
        try? FileManager.default.removeItem(atPath: "\(folder.path)/bus")
    }

    /// Runs a line of Python in `desk.py`, and waits until it has run.
    func run(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try #require(desk).run(line, sourceLocation: sourceLocation)
    }

    /// What was asked of BlueZ, each an object of JSON with sorted keys.
    var requests: EventLog<String> { get throws { try #require(desk).requests } }

    /// Waits until dbusmock's objects have been asked for this so many times.
    func waitForCall(_ what: String, count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try #require(desk).calls.wait(what, sourceLocation: sourceLocation) { calls in
            calls.count { $0.contains(what) } >= count
        }
    }

    /// Runs a program to its end. Returns its exit status.
    static func run(_ path: String, _ arguments: [String]) -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        do { try process.run() } catch { return 127 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}

/// The process with the mocks.
private final class Desk {
    let requests = EventLog<String>()
    let calls = EventLog<String>()
    private let process = Process()
    private let input = Pipe()
    private let answers = EventLog<String>()
    private var lines = 0

    init(script: String, address: String) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [script, address]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let handle = output.fileHandleForReading
        Thread { [answers, requests, calls] in
            var rest = Data()
            while case let data = handle.availableData, !data.isEmpty {
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    if let line = Self.sorted(rest[..<end]) {
                        (line.contains("\"event\":") ? requests : answers).add(line)
                    } else {
                        // dbusmock writes its log to standard output, too.
                        calls.add(String(decoding: rest[..<end], as: UTF8.self))
                    }
                    rest = Data(rest[(end + 1)...])
                }
            }
        }.start()
        answers.wait("ready") { !$0.isEmpty }
    }

    func end() {
        process.kill()
    }

    func run(_ line: String, sourceLocation: SourceLocation) {
        lines += 1
        input.fileHandleForWriting.write(Data((line + "\n").utf8))
        answers.wait("the end of “\(line)”", sourceLocation: sourceLocation) { $0.count > lines }
        let answer = answers.all.last ?? ""
        #expect(answer == "{\"done\":\(lines)}", sourceLocation: sourceLocation)
    }

    private static func sorted(_ line: Data) -> String? {
        guard let object = try? JSONSerialization.jsonObject(with: line),
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}

extension Process {
    /// Ends the process with SIGKILL: it inherits the signal mask of the thread that started it, which may hold back
    /// SIGTERM.
    fileprivate func kill() {
        if isRunning { Glibc.kill(processIdentifier, SIGKILL) }
        waitUntilExit()
    }
}

extension DesktopWatch {
    /// With no battery but those of the buses.
    static func started(
        system: PrivateBus? = nil, session: PrivateBus? = nil, sessionID: String? = nil,
        into log: EventLog<DesktopEvent>
    ) -> DesktopWatch {
        var options = Options(
            buses: BusAddresses(system: system?.address, session: session?.address), powerSupplies: "/dev/null/none")
        options.sessionID = sessionID
        options.userID = 1000
        let watch = DesktopWatch(options: options) { log.add($0) }
        watch.start()
        return watch
    }
}
