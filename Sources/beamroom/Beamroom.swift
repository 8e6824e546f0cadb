import ArgumentParser
import BeamTerminal
import BeamTrust
import BeamVersion
import Glibc

/// `beamroom`: the command line.
@main
struct Beamroom: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beamroom",
        abstract: "Shares the screen and the sound of one machine with others on the same network.",
        discussion: """
            On the machine that shares its screen:   beamroom share
            On the machine that watches:             beamroom watch
            """,
        version: BeamVersion.line,
        subcommands: [
            ShareCommand.self, WatchCommand.self, RoomCommand.self, RelayCommand.self, HostsCommand.self,
            StatusCommand.self, StopCommand.self, PauseCommand.self, ResumeCommand.self, KickCommand.self,
            NoteCommand.self,
            DevicesCommand.self, MeasureCommand.self, PatternCommand.self, DoctorCommand.self, WebPageCommand.self,
            ConfigCommand.self,
        ])

    static func main() {
        HeapSettings.apply()
        StandardStreams.prepare()
        CommandLineSecrets.hide()
        ProcessHardening.apply()
        do {
            if let error = CommandSuggestion.error(for: Array(CommandLine.arguments.dropFirst())) {
                throw ValidationError(error)
            }
            var command = try command(joined())
            try command.run()
        } catch {
            end(with: error)
        }
    }

    /// What the command line and the file of settings say now. Nil: the file has no say.
    static func joined() throws -> SettingsJoining? { try SettingsJoining(arguments) }

    /// - Parameter joined: nil: the command line alone says what to do.
    static func command(_ joined: SettingsJoining?) throws -> any ParsableCommand {
        try joined?.parse() ?? parseAsRoot(arguments)
    }

    private static var arguments: [String] { NegativeValues.joined(Array(CommandLine.arguments.dropFirst())) }

    /// Prints the error, or the help, and ends the program. Not ArgumentParser's `exit(withError:)`, which writes errors
    /// to the C library's `stderr`: that is silent here (`StandardStreams`).
    private static func end(with error: any Error) -> Never {
        if let status = error as? ExitStatus { Glibc.exit(status.code) }
        let settings = error as? SettingsError
        let status = settings.map { ExitCode($0.status) } ?? exitCode(for: error)
        let stream = status.isSuccess ? STDOUT_FILENO : StandardStreams.messages
        let message = settings.map { Console.printable("beamroom: \($0)") } ?? fullMessage(for: error)
        // What another program or a shell reads is left as it is.
        let isForPrograms = CommandLine.arguments.contains {
            $0 == "--experimental-dump-help" || $0.hasPrefix("--generate-completion-script")
        }
        let text =
            isForPrograms && status.isSuccess
            ? message : TerminalText.wrapped(TerminalText.shown(message), columns: TerminalText.columns(of: stream))
        if !text.isEmpty {
            var rest = Array((text + "\n").utf8)[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(stream, $0.baseAddress, $0.count) }
                guard written > 0 || errno == EINTR else { break }
                rest = rest.dropFirst(max(0, written))
            }
        }
        Glibc.exit(status.rawValue)
    }
}
