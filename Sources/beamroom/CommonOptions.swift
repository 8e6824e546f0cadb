import ArgumentParser
import BeamClock
import BeamMedia

/// What `share` and `watch` have in common.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Speak version 1 too, as older apps do: then everybody on this network can see the picture.")
    var allowUnencrypted = false

    @Option(help: ArgumentHelp("End by itself after so many seconds.", valueName: "seconds"))
    var timeLimit: Double?

    @Flag(help: "Write one JSON object a line on standard output; words for people go to standard error.")
    var json = false

    func validate() throws {
        if let timeLimit, !(timeLimit > 0 && timeLimit.isFinite) {
            throw ValidationError("--time-limit takes a number of seconds above 0.")
        }
    }
}

/// What every running command needs.
struct CommandContext: Sendable {
    let start = MediaTime.now
    let console = Console()
    let latch = EndingLatch()
    let events: EventWriter

    init(json: Bool) { events = EventWriter(isEnabled: json, start: start) }

    /// To be called last by every command: waits a bounded time until words and events are written.
    func close() {
        events.close()
        console.close()
    }

    /// The exit status that `ending` stands for, its reason told.
    func conclude(_ ending: Ending) throws {
        switch ending {
        case .done: return
        case .failed(let reason):
            console.say("beamroom: \(reason)")
            throw ExitCode(1)
        case .peerLost(let reason):
            console.say("beamroom: \(reason)")
            throw ExitCode(2)
        }
    }
}
