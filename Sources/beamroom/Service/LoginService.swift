import BeamTerminal
import Foundation
import Glibc

/// Has systemd start a command in each of this user's graphical sessions, or not any more.
///
/// The unit and what enables it are files in the user's own folder, so that they can be written where no systemd of the
/// user's runs, as over ssh: it reads them when it starts.
struct LoginService {
    let command: LoginCommand
    private let console: Console
    private let folder: URL

    private var name: String { command.unitName }
    private var unit: URL { folder.appending(path: name) }
    /// As `systemctl --user enable` makes it.
    private var link: URL { folder.appending(path: "graphical-session.target.wants/\(name)") }

    init(_ command: LoginCommand, _ console: Console) {
        (self.command, self.console) = (command, console)
        let environment = ProcessInfo.processInfo.environment
        // systemd.unit(5), "User Unit Search Path".
        let configuration =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".config")
        folder = configuration.appending(path: "systemd/user")
    }

    /// Does what `--at-login` says, with the command line's other options. Throws the exit status.
    static func set(_ command: LoginCommand, _ isOn: Switch, _ context: CommandContext) throws {
        let service = LoginService(command, context.console)
        do throws(LoginServiceError) {
            if isOn.isOn {
                try service.enable(Array(CommandLine.arguments.dropFirst()))
            } else {
                try service.disable()
            }
        } catch {
            try context.conclude(.failed(error.description))
        }
    }

    /// - Parameter arguments: all of the command line after the program's name.
    func enable(_ arguments: [String]) throws(LoginServiceError) {
        let arguments = command.kept(of: arguments)
        guard !arguments.contains(where: { $0 == "--code" || $0.hasPrefix("--code=") }) else { throw .codeInTheOpen }
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            throw .unwritten("the program's own path is unknown")
        }
        let unit = LoginUnit(
            command: command, program: program, arguments: arguments,
            folder: FileManager.default.currentDirectoryPath,
            hasNameSpaces: Systemd.run(
                "systemd-run",
                LoginUnit.inNameSpaces.flatMap { ["--property", $0] }
                    + ["--wait", "--collect", "--quiet", "/bin/true"]))
        do {
            try FileManager.default.createDirectory(
                at: link.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(unit.text.utf8).write(to: self.unit, options: .atomic)
            if !isEnabled {
                try FileManager.default.createSymbolicLink(at: link, withDestinationURL: self.unit)
            }
        } catch {
            throw .unwritten(error.localizedDescription)
        }
        console.say("From now on `beamroom \(command.words)` starts with your graphical session: \(self.unit.path).")
        guard Systemd.run("systemctl", ["daemon-reload"]) else {
            return console.say("It begins at your next login: no systemd of yours can be reached from here.")
        }
        guard Systemd.run("systemctl", ["is-active", "--quiet", "graphical-session.target"]) else {
            return console.say(
                "It begins when a desktop starts systemd's graphical-session.target. GNOME and KDE do; for others put "
                    + "`systemctl --user import-environment DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_CURRENT_DESKTOP; "
                    + "systemctl --user start \(name)` into what your desktop runs at its start.")
        }
        // It may take as long as a person needs to answer.
        guard Systemd.run("systemctl", ["restart", "--no-block", name]) else {
            return console.say("It couldn't be started now: `systemctl --user status \(name)` says more.")
        }
        console.say("It starts now. `journalctl --user -u \(name) -f` shows what it says.")
    }

    func disable() throws(LoginServiceError) {
        // What runs ends as by Ctrl-C.
        _ = Systemd.run("systemctl", ["stop", name])
        var isRemoved = false
        for url in [link, unit] {
            do {
                try FileManager.default.removeItem(at: url)
                isRemoved = true
            } catch CocoaError.fileNoSuchFile {
                continue
            } catch {
                throw .unwritten(error.localizedDescription)
            }
        }
        _ = Systemd.run("systemctl", ["daemon-reload"])
        console.say(
            isRemoved
                ? "`beamroom \(command.words)` doesn't start with your session any more."
                : "`beamroom \(command.words)` didn't start with your session, so nothing was changed.")
    }

    private var isEnabled: Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: link.path)) != nil
    }
}

enum LoginServiceError: Error, CustomStringConvertible {
    case codeInTheOpen
    case unwritten(String)

    var description: String {
        switch self {
        case .codeInTheOpen:
            "--code would stand in a file and in the list of processes: put the code into a file that only you can read, "
                + "and use --code-file with --at-login."
        case .unwritten(let reason): "The unit for systemd can't be changed: \(reason)"
        }
    }
}

/// This user's systemd, by its own tools.
private enum Systemd {
    /// Whether the tool could do it. What it says isn't for people who asked for something else.
    static func run(_ tool: String, _ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [tool, "--user"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
