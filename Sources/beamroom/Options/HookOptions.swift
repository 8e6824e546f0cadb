import ArgumentParser
import BeamTerminal

/// Commands that are run when something happens.
struct HookOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Run this when sharing begins, or the room is entered.", valueName: "command"))
    var onStart: String?
    @Option(
        help: ArgumentHelp(
            "Run this when somebody begins to watch, or comes into the room. Like the others of this kind it is run by the shell, with the event as JSON on standard input.",
            valueName: "command"))
    var onJoin: String?
    @Option(help: ArgumentHelp("Run this when somebody leaves.", valueName: "command"))
    var onLeave: String?
    @Option(help: ArgumentHelp("Run this at the end.", valueName: "command"))
    var onStop: String?

    var commands: [Hooks.Moment: String] {
        [.start: onStart, .join: onJoin, .leave: onLeave, .stop: onStop].compactMapValues { $0 }
    }

    func validate() throws {
        for (moment, command) in commands where command.allSatisfy(\.isWhitespace) {
            throw ValidationError("\(moment.option) takes a command, as the shell reads it.")
        }
    }
}
