import Foundation

/// A private message bus with mocks of desktop services, for the program's environment (see `desk.py`).
final class DesktopMocks {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "BeamDesktopTests/Support/desk.py").path

    /// What is missing to use it; nil: nothing.
    static let obstacle: String? = {
        guard Tool.exists("dbus-daemon") else { return "dbus-daemon isn't installed (package dbus)" }
        let modules = try? Tool.run("/usr/bin/python3", ["-c", "import dbus, dbusmock, gi"])
        return modules == nil ? "the mocks can't run (package python3-dbusmock)" : nil
    }()

    /// This machine has an IPv4 address that other machines could reach: loopback isn't advertised over Bluetooth.
    static let hasAddress: Bool = {
        let addresses = try? Tool.run("ip", ["-4", "-o", "address", "show", "scope", "global"])
        return addresses.map { !$0.isEmpty } ?? false
    }()

    private let directory: ScratchDirectory
    private let daemon: ChildProcess
    private let mocks: ChildProcess

    /// The bus is the system's and the session's.
    var environment: [String: String?] {
        ["DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address]
    }

    private var address: String { "unix:path=\(directory.file("bus"))" }

    init() throws {
        let directory = try ScratchDirectory()
        self.directory = directory
        let address = "unix:path=\(directory.file("bus"))"
        let configuration = """
            <busconfig><type>session</type><listen>\(address)</listen><policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
            </policy></busconfig>
            """
        try configuration.write(toFile: directory.file("bus.conf"), atomically: true, encoding: .utf8)
        daemon = try ChildProcess(
            "dbus-daemon",
            ["--config-file=\(directory.file("bus.conf"))", "--nofork", "--nopidfile", "--nosyslog", "--print-address"])
        guard daemon.state.wait(timeout: 30, { $0.output.first }) != nil else {
            throw HarnessError("dbus-daemon doesn't start: \(daemon.errorText)")
        }
        mocks = try ChildProcess("/usr/bin/python3", [Self.script, address], input: .pipe)
        guard mocks.state.wait(timeout: 30, { $0.output.first { $0.contains("\"ready\"") } }) != nil else {
            throw HarnessError("the mocks don't start: \(mocks.errorText)")
        }
    }

    deinit {
        mocks.end()
        daemon.end()
    }

    func hasSeen(_ name: String) -> Bool {
        mocks.state.current.output.contains { $0.contains("\"event\": \"\(name)\"") }
    }

    /// Waits until the mocks have seen this: the last such line, as JSON.
    func waitForEvent(_ name: String) throws -> String {
        let event = mocks.state.wait(timeout: 30) { $0.output.last { $0.contains("\"event\": \"\(name)\"") } }
        guard let event else { throw HarnessError("the mocks saw no “\(name)”; \(mocks.errorText)") }
        return event
    }

    /// Runs a line of Python in `desk.py`, and waits until it has run.
    func run(_ line: String) throws {
        func answers(_ state: ChildProcess.State) -> [String] {
            state.output.filter { $0.hasPrefix("{\"done\"") || $0.hasPrefix("{\"error\"") }
        }
        let before = answers(mocks.state.current).count
        mocks.type(line)
        let answer = mocks.state.wait(timeout: 30) { answers($0).dropFirst(before).first }
        guard let answer, answer.hasPrefix("{\"done\"") else {
            throw HarnessError("“\(line)”: \(answer ?? "no answer"); \(mocks.errorText)")
        }
    }
}
