import BeamClock
import BeamDesktop
import BeamMedia
import BeamMetrics
import BeamWire
import Glibc
import Logging

/// What every command needs while it runs.
public struct CommandContext: Sendable {
    let start: MediaTime
    public let console: Console
    /// To the person, or to the journal.
    private let log: Logger
    public let latch = EndingLatch()
    public let events: EventWriter
    /// What is left out of the lines for the person, because others can cause it as often as they like.
    public let floods = FloodLimiter()
    /// What other programs can have this one do.
    public let actions: ProgramActions
    /// Another program's lines on standard input; nil without `--json`.
    public let programs: ProgramInput?
    /// Before each line for the person: which of several hosts it is about.
    private let prefix: String
    private let hooks: Hooks
    /// Nil: no metrics are served.
    private let figures: FigureMetrics?

    /// - Parameters:
    ///   - commands: the person's, which are run when something happens.
    ///   - figures: the metrics, which `openMetrics` serves.
    ///   - logLevel: of the lines that are written; nil: the console's.
    public init(
        json: Bool, commands: [Hooks.Moment: String] = [:], figures: FigureMetrics? = nil,
        logLevel: Logger.Level? = nil, console: Console = Console()
    ) {
        self.figures = figures
        start = .now
        self.console = console
        if let logLevel { console.setLevel(logLevel) }
        let log = Logger(label: "beamroom") { _ in ConsoleLog(console) }
        self.log = log
        prefix = ""
        let floods = self.floods
        let hooks = Hooks(commands) { words in
            if floods.allows(.warning) { log.warning("\(words)") }
        }
        self.hooks = hooks
        events = EventWriter(isEnabled: json, start: start, hooks: hooks, figures: figures, log: log)
        let actions = ProgramActions()
        self.actions = actions
        programs = json ? ProgramInput(actions, events) : nil
        if json { endWithReader() }
    }

    /// Ends the program, as Ctrl-C does, when nobody reads its standard output any more.
    public func endWithReader() {
        let latch = self.latch
        StandardStreams.whenReaderIsGone { latch.end(.done) }
    }

    /// The context of one of several hosts: it ends by itself, and says which host it is about. Not to be closed.
    ///
    /// - Parameters:
    ///   - host: as it was named on the command line, or as a room calls it.
    ///   - device: whose events say which device they are about, too.
    public init(_ all: CommandContext, host: String, device: DeviceKey? = nil) {
        start = all.start
        (figures, hooks) = (all.figures, all.hooks)
        (console, log) = (all.console, all.log)
        prefix = "“\(PeerText.name(host))”: "
        events = EventWriter(all.events, host: host, device: device)
        (actions, programs) = (all.actions, all.programs)
    }

    /// Serves metrics, and says where. To be called before anything is shared or watched: it ends the program, by throwing
    /// its exit status, if they can't be served.
    public func openMetrics(_ address: MetricsAddress?) throws {
        guard let address, let figures else { return }
        do {
            let served = try figures.open(address)
            tell(.metrics(served), MetricsText.serving(served))
        } catch {
            try conclude(.failed("\(error)"))
        }
    }

    /// Where metrics are served; nil: none are.
    public var metricsPort: UInt16? { figures?.port }

    /// The person's commands, and the level of the lines that are written, as the settings have them now.
    public func apply(commands: [Hooks.Moment: String], logLevel: Logger.Level?) {
        hooks.setCommands(commands)
        console.setLevel(logLevel ?? Console.usualLevel)
    }

    /// Writes a line for the person.
    public func say(_ line: String) { write(line, as: nil) }

    /// Writes the line unless too many of its kind were written lately.
    public func say(_ line: String, as flood: Flood) {
        if floods.allows(flood) { write(line, as: flood) }
    }

    private func write(_ line: String, as flood: Flood?) {
        log.log(level: Logger.Level(ofLine: line, as: flood), "\(prefix + line)")
    }

    /// Tells programs what happens, and the person in words. Nil: not them.
    ///
    /// - Parameter flood: the words are left out if too many of their kind were said lately; nil: never.
    public func tell(_ event: ProgramEvent?, _ words: String?, as flood: Flood? = nil) {
        if let event { events.write(event) }
        guard let words, flood.map(floods.allows) ?? true else { return }
        write(words, as: flood)
    }

    /// Waits a bounded time until the line is written: before a library's messages are kept away from standard error, with
    /// which this one would be lost.
    public func sayAtOnce(_ line: String) {
        say(line)
        console.flush()
    }

    /// Every command calls this last. Waits a bounded time until messages and events are written.
    public func close() {
        ServiceManager.current?.stopping()
        TerminalMode.shared.leave()
        programs?.end()
        figures?.close()
        events.close()
        console.close()
    }

    /// When the display has gone: ends the program on the present thread, while the main thread is blocked for ever.
    ///
    /// - Parameter finish: ends what runs, and throws the exit status.
    public func endWithoutDisplay(_ finish: (Ending) throws -> Void) -> Never {
        latch.end(.failed(Self.lostDisplay))
        var status: CInt = 0
        do { try finish(latch.wait()) } catch { status = (error as? ExitStatus)?.code ?? 1 }
        close()
        _exit(status)
    }

    private static let lostDisplay =
        "The display has gone: its X server or compositor has ended, or the connection to it was lost. "
        + "Start this again when it is back."

    /// How the program ends because a person has said at the desktop that nothing is to be shared. A service that fails
    /// is started again, and would ask that person again, so that it ends in order.
    public func ending(byWish reason: String) -> Ending {
        guard let service = ServiceManager.current else { return .failed(reason) }
        service.show(reason)
        log.notice("\(reason)")
        return .done
    }

    /// Prints the reason of `ending`, and throws its exit status.
    public func conclude(_ ending: Ending) throws {
        switch ending {
        case .done, .timeLimit: ServiceManager.current?.endsInOrder()
        case .failed(let reason):
            log.error("beamroom: \(reason)")
            throw ExitStatus(1)
        case .peerLost(let reason):
            if let reason { log.error("beamroom: \(reason)") }
            throw ExitStatus(2)
        }
    }
}

/// How the program ends; what there is to say was said.
public struct ExitStatus: Error {
    public let code: Int32

    public init(_ code: Int32) { self.code = code }
}
