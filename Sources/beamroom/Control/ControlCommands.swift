import ArgumentParser
import BeamMedia
import BeamTerminal
import BeamWire

/// `beamroom status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Says what this user shares at present, and who watches.",
        discussion: """
            Of `share`, `relay` and `room`, from any terminal. The exit status is 1 if nothing of them runs. `stop`, `pause`, \
            `resume`, `kick` and `note` have it do something.
            """)

    @OptionGroup var target: ControlOptions
    @Flag(help: "Write one JSON object a line on standard output.")
    var json = false

    func run() throws {
        let context = CommandContext(json: json)
        defer { context.close() }
        if !json { context.endWithReader() }
        for running in try target.all(context) {
            if json {
                context.events.write(.list(.status(running.status.object ?? [:])))
            } else {
                for line in StatusText.lines(running.status) { Console.list(line) }
            }
        }
    }
}

/// `beamroom stop`.
struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Ends what this user shares, as Ctrl-C does in its terminal.")

    /// Viewers are told, files are finished and commands of --on-stop are run meanwhile.
    private static let patience = Duration.seconds(30)

    @OptionGroup var target: ControlOptions

    func run() throws {
        let context = CommandContext(json: false)
        defer { context.close() }
        let running = try target.send(["stop": .bool(true)], context)
        guard running.client.waitForEnd(atMost: Self.patience) else {
            return try context.conclude(
                .failed("Process \(running.client.process) is told to end, and hasn't after \(Self.patience).")
            )
        }
    }
}

/// `beamroom pause`.
struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pauses what this user shares: viewers keep the last picture, and nothing is captured.",
        discussion: "`beamroom resume` goes on.")

    @OptionGroup var target: ControlOptions

    func run() throws { try target.run(["pause": .bool(true)]) }
}

/// `beamroom resume`.
struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Goes on with what `beamroom pause`, or the key p, has paused.")

    @OptionGroup var target: ControlOptions

    func run() throws { try target.run(["pause": .bool(false)]) }
}

/// `beamroom kick`.
struct KickCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick",
        abstract: "Sends a viewer away for a minute, or for good.",
        discussion: "`beamroom status` lists the viewers.")

    @Argument(
        help: ArgumentHelp(
            "The viewer's name, the first digits of its key (at least four), or its address.", valueName: "name"))
    var viewer: String
    @Flag(help: "It has to be let in anew, not before the next time that you share.")
    var forGood = false
    @OptionGroup var target: ControlOptions

    func run() throws { try target.run(["kick": .string(viewer), "forGood": .bool(forGood)]) }
}

/// `beamroom note`.
struct NoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "note", abstract: "Writes a note to everybody who watches what this user shares.")

    @Argument(help: ArgumentHelp("The note. Several words make one note.", valueName: "text"))
    var words: [String]
    @OptionGroup var target: ControlOptions

    private var text: String { words.joined(separator: " ") }

    func validate() throws {
        guard !ShownText.line(text).isEmpty else { throw ValidationError("The note is empty.") }
        guard text.utf8.count <= LogLimits.note else {
            throw ValidationError("A note has at most \(LogLimits.note) bytes; this one has \(text.utf8.count).")
        }
    }

    func run() throws { try target.run(["note": .string(text)]) }
}

extension ControlOptions {
    fileprivate func run(_ line: [String: JSONValue]) throws {
        let context = CommandContext(json: false)
        defer { context.close() }
        _ = try send(line, context)
    }
}
