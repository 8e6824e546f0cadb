import Foundation

/// A desktop with a real notification daemon (dunst), on an X server and a bus of its own.
final class NoticeDesktop {
    static let obstacle: String? = {
        for (tool, package) in [("Xvfb", "xvfb"), ("dbus-daemon", "dbus-daemon"), ("dunst", "dunst")]
        where !Tool.exists(tool) {
            return "\(tool) isn't installed (package \(package))"
        }
        return nil
    }()

    private let directory: ScratchDirectory
    private let screen: XServer
    private let bus: ChildProcess

    /// Where the program finds the bus.
    var environment: [String: String?] { ["DBUS_SESSION_BUS_ADDRESS": address] }
    private var address: String { "unix:path=\(directory.file("bus"))" }

    /// The daemon isn't started: the bus does that when it is needed, as on most desktops.
    init() throws {
        directory = try ScratchDirectory()
        screen = try XServer(width: 800, height: 300)
        // In place of the menu from which a person takes a button.
        try Self.write("grep -F -m 1 \"$(cat '\(directory.file("button"))')\"", to: directory.file("menu"))
        try Self.write("echo \"$2: $3\" >> '\(directory.file("shown"))'", to: directory.file("note"))
        try """
        [global]
        dmenu = \(directory.file("menu"))
        [all]
        summary = "*"
        script = \(directory.file("note"))
        """.write(toFile: directory.file("dunstrc"), atomically: true, encoding: .utf8)
        try Self.write(
            "echo $$ >> '\(directory.file("daemons"))'; exec dunst -config '\(directory.file("dunstrc"))'",
            to: directory.file("daemon"))
        let services = directory.file("services")
        try FileManager.default.createDirectory(atPath: services, withIntermediateDirectories: false)
        try """
        [D-BUS Service]
        Name=org.freedesktop.Notifications
        Exec=\(directory.file("daemon"))
        """.write(toFile: services + "/notifications.service", atomically: true, encoding: .utf8)
        try """
        <busconfig><type>session</type><listen>unix:path=\(directory.file("bus"))</listen><servicedir>\(services)</servicedir>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
        """.write(toFile: directory.file("bus.conf"), atomically: true, encoding: .utf8)
        bus = try ChildProcess(
            "dbus-daemon",
            ["--config-file=\(directory.file("bus.conf"))", "--nofork", "--nopidfile", "--print-address"],
            environment: ["DISPLAY": screen.display])
        guard bus.state.wait(timeout: 30, { $0.output.first }) != nil else {
            throw HarnessError("dbus-daemon doesn't start: \(bus.errorText)")
        }
    }

    deinit {
        endDaemon()
        bus.end()
    }

    /// Ends the daemon, as one does that is idle. The bus starts another one when it is needed.
    func endDaemon() {
        let started = (try? String(contentsOfFile: directory.file("daemons"), encoding: .utf8)) ?? ""
        guard let pid = started.split(separator: "\n").last.flatMap({ pid_t($0) }) else { return }
        kill(pid, SIGTERM)
    }

    private static func write(_ command: String, to script: String) throws {
        // Copied by another process: what this one has open to write is for a moment open in each child that it starts for
        // another test, and can't be run then.
        try "#!/bin/sh\n\(command)\n".write(toFile: script + ".text", atomically: true, encoding: .utf8)
        try Tool.run("install", ["-m", "700", script + ".text", script])
    }

    /// Each notice that was shown: its title and its text.
    var shown: [String] {
        ((try? String(contentsOfFile: directory.file("shown"), encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    /// Waits until a notice with `text` has been shown, and answers it.
    func wait(forNotice text: String) throws -> String {
        var found: String?
        guard
            eventually(
                timeout: 30,
                {
                    found = shown.last { $0.contains(text) }
                    return found != nil
                })
        else { throw HarnessError("no notice with “\(text)”, but \(shown); \(bus.errorText)") }
        return found ?? ""
    }

    /// Whether the daemon shows nothing; nil: none runs.
    var isPaused: Bool? {
        get throws {
            let question = try ChildProcess("dunstctl", ["is-paused"], environment: environment)
            _ = try question.waitForEnd()
            return Bool(question.state.current.output.first ?? "")
        }
    }

    /// Presses a button of the notice that is shown, again and again until `isDone`: the program takes none before a person
    /// can have read it.
    func press(_ button: String, until isDone: () -> Bool) throws {
        try button.write(toFile: directory.file("button"), atomically: true, encoding: .utf8)
        let isPressed = try eventually(timeout: 30) {
            if isDone() { return true }
            let press = try ChildProcess("dunstctl", ["context"], environment: environment)
            _ = try press.waitForEnd()
            pause(seconds: 0.3)
            return isDone()
        }
        guard isPressed else { throw HarnessError("“\(button)” does nothing; shown: \(shown); \(bus.errorText)") }
    }
}
