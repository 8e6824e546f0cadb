import ArgumentParser
import BeamClock
import BeamMedia
import BeamTerminal

/// Options of `share`, `watch` and `room`.
struct RunOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End after this many seconds.", valueName: "seconds"))
    var timeLimit: Double?

    @Flag(
        help:
            "Write one JSON object a line on standard output, and read messages, notes and pauses as JSON lines on standard input. Messages for people go to standard error."
    )
    var json = false
    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        if let timeLimit, !(timeLimit > 0 && timeLimit.isFinite) {
            throw ValidationError("--time-limit takes a number of seconds above 0.")
        }
    }
}

/// Options of both `share` and `watch`.
struct CommonOptions: ParsableArguments {
    @Flag(
        help: "Also allow version 1, for older apps. It isn't encrypted: everybody on this network can see the picture."
    )
    var allowUnencrypted = false

    @OptionGroup var run: RunOptions

    var timeLimit: Double? { run.timeLimit }
    var json: Bool { run.json }
}
