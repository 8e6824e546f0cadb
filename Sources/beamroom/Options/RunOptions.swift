import ArgumentParser
import BeamTerminal
import Logging

/// Options of every command that goes on until it is ended.
///
/// No group of options contains another: in debug builds ArgumentParser checks a group once more for each group around it,
/// which made up a third of a start.
struct RunOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End after this many seconds.", valueName: "seconds"))
    var timeLimit: Double?

    @Flag(
        help:
            "Write one JSON object a line on standard output, and read messages, notes and pauses as JSON lines on standard input. Messages for people go to standard error."
    )
    var json = false
    @Option(
        help: ArgumentHelp(
            "The least weighty lines for people that are written. debug adds the events, but nothing that people write to each other; trace also each second's statistics. (default: info)",
            valueName: "level"))
    var logLevel: Logger.Level?

    func validate() throws {
        if let timeLimit, !(timeLimit > 0 && timeLimit.isFinite) {
            throw ValidationError("--time-limit takes a number of seconds above 0.")
        }
    }
}
