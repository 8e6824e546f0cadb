import ArgumentParser
import BeamTrust

/// `beamroom`: options in, stages wired, everything ended in order.
@main
struct Beamroom: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beamroom",
        abstract: "Shares a screen with machines on the same network, and watches one.",
        discussion: """
            On the machine whose screen is to be seen:   beamroom share
            On the machine that watches:                 beamroom watch
            """,
        version: "0.1.0",
        subcommands: [
            Share.self, Watch.self, Hosts.self, Devices.self, Measure.self, PatternCommand.self,
        ])

    static func main() {
        StandardStreams.prepare()
        CommandLineSecrets.hide()
        ProcessHardening.apply()
        main(nil)
    }
}
