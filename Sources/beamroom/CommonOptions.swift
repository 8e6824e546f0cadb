import ArgumentParser
import BeamClock
import BeamMedia
import BeamProtocol
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

/// What every command needs while it runs.
struct CommandContext: Sendable {
    let start: MediaTime
    let console: Console
    let latch = EndingLatch()
    let events: EventWriter
    /// What is left out of the lines for the person, because others can cause it as often as they like.
    let floods = FloodLimiter()
    /// Another program's lines on standard input; nil without `--json`.
    let programs: ProgramInput?
    /// Before each line for the person: which of several hosts it is about.
    private let prefix: String

    init(json: Bool, console: Console = Console()) {
        start = .now
        self.console = console
        prefix = ""
        events = EventWriter(isEnabled: json, start: start)
        programs = json ? ProgramInput(events) : nil
        if json { endWithReader() }
    }

    /// Ends the program, as Ctrl-C does, when nobody reads its standard output any more.
    func endWithReader() {
        let latch = self.latch
        StandardStreams.whenReaderIsGone { latch.end(.done) }
    }

    /// The context of one of several hosts: it ends by itself, and says which host it is about. Not to be closed.
    ///
    /// - Parameters:
    ///   - host: as it was named on the command line, or as a room calls it.
    ///   - device: whose events say which device they are about, too.
    init(_ all: CommandContext, host: String, device: DeviceKey? = nil) {
        start = all.start
        console = all.console
        prefix = "“\(PeerText.name(host))”: "
        events = EventWriter(all.events, host: host, device: device)
        programs = all.programs
    }

    /// Writes a line for the person.
    func say(_ line: String) { console.say(prefix + line) }

    /// Writes the line unless too many of its kind were written lately.
    func say(_ line: String, as flood: Flood) {
        if floods.allows(flood) { say(line) }
    }

    /// Tells programs what happens, and the person in words. Nil: not them.
    ///
    /// - Parameter flood: the words are left out if too many of their kind were said lately; nil: never.
    func tell(_ event: ProgramEvent?, _ words: String?, as flood: Flood? = nil) {
        if let event { events.write(event) }
        guard let words, flood.map(floods.allows) ?? true else { return }
        say(words)
    }

    /// Waits a bounded time until the line is written: before a library's messages are kept away from standard error, with
    /// which this one would be lost.
    func sayAtOnce(_ line: String) {
        say(line)
        console.flush()
    }

    /// Every command calls this last. Waits a bounded time until messages and events are written.
    func close() {
        TerminalMode.shared.leave()
        programs?.end()
        events.close()
        console.close()
    }

    /// Prints the reason of `ending`, and throws its exit status.
    func conclude(_ ending: Ending) throws {
        switch ending {
        case .done, .timeLimit: return
        case .failed(let reason):
            console.say("beamroom: \(reason)")
            throw ExitCode(1)
        case .peerLost(let reason):
            if let reason { console.say("beamroom: \(reason)") }
            throw ExitCode(2)
        }
    }
}
