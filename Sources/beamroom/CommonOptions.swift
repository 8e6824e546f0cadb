import ArgumentParser
import BeamClock
import BeamMedia

/// Options of both `share` and `watch`.
struct CommonOptions: ParsableArguments {
    @Flag(
        help: "Also allow version 1, for older apps. It isn't encrypted: everybody on this network can see the picture."
    )
    var allowUnencrypted = false

    @Option(help: ArgumentHelp("End after this many seconds.", valueName: "seconds"))
    var timeLimit: Double?

    @Flag(help: "Write one JSON object a line on standard output. Messages for people go to standard error.")
    var json = false

    func validate() throws {
        if let timeLimit, !(timeLimit > 0 && timeLimit.isFinite) {
            throw ValidationError("--time-limit takes a number of seconds above 0.")
        }
    }
}

/// What every command needs while it runs.
struct CommandContext: Sendable {
    let start = MediaTime.now
    let console = Console()
    let latch = EndingLatch()
    let events: EventWriter

    init(json: Bool) { events = EventWriter(isEnabled: json, start: start) }

    /// Every command calls this last. Waits a bounded time until messages and events are written.
    func close() {
        TerminalMode.shared.leave()
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
