import ArgumentParser
import BeamTrust

/// `beamroom`: the command line.
@main
struct Beamroom: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beamroom",
        abstract: "Shares the screen of one machine with others on the same network.",
        discussion: """
            On the machine that shares its screen:   beamroom share
            On the machine that watches:             beamroom watch
            """,
        version: "0.1.0",
        subcommands: [
            Share.self, Watch.self, Hosts.self, Devices.self, Measure.self, PatternCommand.self,
        ])

    static func main() {
        HeapSettings.apply()
        StandardStreams.prepare()
        CommandLineSecrets.hide()
        ProcessHardening.apply()
        if let error = CommandSuggestion.error(for: Array(CommandLine.arguments.dropFirst())) {
            exit(withError: ValidationError(error))
        }
        main(nil)
    }
}
