import ArgumentParser
import BeamHost
import BeamIdentity
import BeamLog
import BeamMedia
import BeamNetwork
import BeamRelay
import BeamSession
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire
import Synchronization

/// `beamroom relay`.
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Watches a host, and passes its screen on to viewers and browsers of its own.",
        discussion: """
            For a second room, or where many share a slow link: over that the picture comes once. It is passed on as it comes,
            without being decoded, from the first picture on. Viewers pair with this machine: it has its own key, codes and
            name. Whoever runs it can see what it passes on. When the host is lost, viewers keep the last picture and read
            why, and it goes on when the host is back.

            The host is named as for `watch`, and its code typed or given as there; the options of serving are those of
            `share`. In the terminal: n writes a note to everybody, x sends a viewer away, c makes a new code, ? lists the
            keys. The exit status is 1 if it couldn't serve, 2 if the host has refused, else 0.
            """.inParagraphs)

    @Argument(
        help: ArgumentHelp("The host's name, address or address:port.", valueName: "host"),
        transform: WatchTarget.init(parsing:))
    var host: WatchTarget

    @OptionGroup var code: CodeOptions
    @Flag(help: "Accept another host at this address than the last time, because another machine has it now.")
    var newHost = false
    @Flag(help: "Don't look for the host over Bluetooth, where there is an adapter.")
    var noBluetooth = false

    @Option(
        help: ArgumentHelp(
            "The name in the viewers' lists, by which the host knows this machine, too. (default: the host's, “by” this machine's)",
            valueName: "name"))
    var name: String?
    @OptionGroup var serving: ServingOptions
    @Flag(help: "Don't announce the relay on the network.")
    var noDiscovery = false
    @Option(
        help: "Viewers without a code: ask about each, let in all, or none. (default: ask, or none without a terminal)")
    var accept: Door.Acceptance?
    @Option(
        help: ArgumentHelp(
            "A file with the six-digit code for viewers here. Only you may be able to read it. It serves any number of viewers.",
            valueName: "file"))
    var viewerCodeFile: String?
    @OptionGroup var doorCode: DoorCodeOptions
    @Flag(help: "Pair for this time only, with the host and with viewers: nobody remembers the other.")
    var once = false
    @Option(
        help: ArgumentHelp("Whether viewers may write notes, which the host's viewers read, too.", valueName: "on|off"))
    var notes = Switch.on
    @OptionGroup var web: WebOptions
    @OptionGroup var notices: NoticeOptions
    @OptionGroup var hooks: HookOptions
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var common: RunOptions
    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        try ValidationError.check(name: name)
    }

    func run() throws {
        // Closed last: `beamroom stop` waits for that.
        var control: ControlSocket?
        defer { control?.close() }
        let context = CommandContext(
            json: common.json, commands: hooks.commands, figures: metrics.figures(of: "relay"),
            logLevel: common.logLevel)
        defer { context.close() }
        try context.openMetrics(metrics.metrics)
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit)
        defer { withExtendedLifetime(endings) {} }
        if let doubt = host.doubt { context.say(doubt) }
        let terminal = TerminalQuestions(context.console, programs: context.programs)
        let notices = self.notices.open(about: "what you pass on")
        defer { notices?.stop() }
        let prompt = PairingPrompt(context.console, terminal, wish: "watch", mirror: notices)
        let desk = QuestionDesk(terminal)
        let upstream = CommandContext(context, host: host.text)
        upstream.latch.whenEnded { if let ending = upstream.latch.current { context.latch.end(ending) } }
        let watching = WatchReporter(
            upstream, WatchReporter.Purpose(hasWindow: false, isOneOfSeveral: true), desk: desk)
        let run: Run
        do {
            run = try prepare(context, prompt, watching, notices)
        } catch {
            // Ctrl-C while a code was awaited.
            return try context.conclude(context.latch.current ?? .failed("\(error)"))
        }
        watching.connect(to: run.relay.viewer)
        desk.readPrograms()
        let rooms = RoomNameWatch(host)
        defer { rooms?.stop() }
        run.relay.start()
        control = context.openControl { [name] in
            run.relay.host.map { run.reporter.status(.relay, $0) }
                ?? RunningStatus(.relay, name: name ?? MachineName.current, stream: nil, asking: prompt.asking)
        }
        let ticker = EverySecond {
            let line = watching.tick(run.relay.viewer)
            if let host = run.relay.host {
                run.reporter.tick(host)
            } else {
                context.console.live(line.map { [$0] } ?? [])
            }
            guard let words = rooms?.look(hasAnswered: watching.hasAnswer) else { return }
            if run.relay.viewer.knowsHost { context.say(words) } else { context.latch.end(.failed(words)) }
        }
        let ending = context.latch.wait()
        ticker.cancel()
        notices?.hide()
        run.relay.stop(because: ending == .done || ending == .timeLimit ? nil : "Its host can't be watched any more")
        context.console.finish()
        watching.summarise(run.relay.viewer)
        if let host = run.relay.host { run.reporter.summarise(host) }
        try context.conclude(watching.verdict(ending, run.relay.viewer))
    }

    private struct Run {
        var relay: Relay
        var reporter: ShareReporter
    }

    // MARK: What the options mean

    private var acceptance: Door.Acceptance { accept ?? (TerminalQuestions.hasKeyboard ? .ask : .none) }

    private func prepare(
        _ context: CommandContext, _ prompt: PairingPrompt, _ watching: WatchReporter, _ notices: ShareNotices?
    ) throws -> Run {
        let store = try TrustStore()
        let identity = try store.identity()
        let isTerminal = context.console.isTerminal
        let isWanted = { context.latch.current == nil }
        let viewerCode = try viewerCodeFile.map { path throws in try CodeFile(path: path).read(while: isWanted) }
        let webCode = try web.code(isTerminal: isTerminal, while: isWanted)
        let showsCode = isTerminal && acceptance != .all
        let hostCode = doorCode.hostCode(viewerCode, isShown: showsCode, isFile: viewerCodeFile != nil)
        let reporter = ShareReporter(
            context, prompt: prompt,
            invitation: DoorReporter.Invitation(
                acceptance: acceptance, isTrustedOnly: false, showsCode: showsCode, hasCode: viewerCode != nil,
                service: hostCode.service, codeFile: viewerCodeFile, allowsUnencrypted: false,
                web: web.invitation(isTerminal: isTerminal)), notices: notices)
        let relay = try Relay(
            try viewing(store, isWanted), own: identity.deviceKey,
            serving: { host, relays in try serving(host, relays, store, identity, hostCode, webCode) },
            handlers: Relay.Handlers(
                onViewer: { watching.handle($0) }, onHost: { reporter.handle($0) },
                onServing: { begin($0, $1, context, prompt, reporter) },
                onFailure: { context.latch.end(.failed($0)) }))
        return Run(relay: relay, reporter: reporter)
    }

    private func viewing(_ store: TrustStore, _ isWanted: () -> Bool) throws -> ViewerOptions {
        let target: ViewerOptions.Target =
            switch host.kind {
            case .endpoint(let endpoint): .endpoint(endpoint)
            case .name(let name, let address): .name(name, address: address)
            }
        var options = ViewerOptions(
            target: target,
            trust: ViewerOptions.Trust(
                store: store, deviceName: ShownText.line(name ?? MachineName.current),
                code: try code.read(while: isWanted), asksForCode: TerminalQuestions.hasPerson,
                remembersNewHosts: !once, isNewHost: newHost))
        options.usesBluetooth = !noBluetooth
        return options
    }

    private func serving(
        _ host: String, _ relays: Int, _ store: TrustStore, _ identity: LocalIdentity, _ hostCode: HostCode,
        _ webCode: HostCode?
    ) throws -> RelayHost.Options {
        let name = ShownText.line(self.name ?? PeerText.name("\(host) by \(MachineName.current)"))
        let remembered = try store.devices().filter { $0.roles.contains(.viewer) }
        var door = Door.Configuration(
            acceptance: acceptance, deviceName: name,
            trust: HostTrust(
                own: identity.deviceKey,
                remembered: Dictionary(remembered.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }),
                code: hostCode, takesNewViewers: true, remembersNewViewers: !once), mostViewers: serving.maxViewers)
        door.relays = relays
        door.webCode = webCode
        var options = RelayHost.Options(
            name: name, host: host, store: store,
            server: HostServer.Options(
                bindAddress: serving.bind, controlPort: serving.port, mediaPort: serving.mediaPort, identity: identity,
                session: HostSession.Configuration(
                    door: door,
                    room: LogOptions(signing: identity.roomSigning, name: name, takesNotes: notes.isOn))))
        options.web = try web.server(
            bind: serving.bind, name: name, store: store, asks: acceptance != .none, hasCode: webCode?.current != nil)
        options.isAnnounced = !noDiscovery
        return options
    }

    /// The person's commands and other programs' lines, from the moment on in which the relay serves.
    private func begin(
        _ relay: Relay, _ host: RelayHost, _ context: CommandContext, _ prompt: PairingPrompt, _ reporter: ShareReporter
    ) {
        let away = SendingAway(context, prompt: prompt, host: host)
        context.actions.connect(
            ProgramActions.Handlers(
                write: { [weak relay] in relay?.write($0) }, kick: { away.sendAway($0, forGood: $1) }))
        var commands = TerminalQuestions.Commands()
        commands.note = { [weak relay] in relay?.write(.note($0)) }
        commands.putOut = { away.ask() }
        commands.kick = { away.ask($0) }
        let showsCode = context.console.isTerminal && acceptance != .all
        let showsWebCode = web.web && context.console.isTerminal && web.webCodeFile == nil
        if showsCode || showsWebCode {
            commands.newCode = { [weak host] in
                if showsCode { host?.renewCode() }
                if showsWebCode { host?.renewWebCode() }
            }
        }
        if web.web { commands.web = { reporter.showWeb() } }
        prompt.setCommands(commands)
        prompt.start { [weak host] connection, accept in host?.decide(connection, accept: accept) }
        reporter.ready(host)
    }
}
