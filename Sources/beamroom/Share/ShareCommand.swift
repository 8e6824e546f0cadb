import ArgumentParser
import BeamCapture
import BeamHost
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamTerminal
import BeamTrust
import Glibc

/// `beamroom share`.
struct ShareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Shares this machine's screen and sound.")

    @OptionGroup var capture: CaptureOptions
    @OptionGroup var sound: SoundOptions
    @Option(
        defaultAsFlag: .on,
        help: ArgumentHelp(
            "Have systemd share the screen in each of your graphical sessions, with the other options that are given; off: not any more. Nothing else is done.",
            valueName: "on|off"))
    var atLogin: Switch?

    @Option(help: ArgumentHelp("The name in the viewers' lists. (default: this machine's name)", valueName: "name"))
    var name: String?
    @OptionGroup var serving: ServingOptions
    @Flag(help: "Don't announce the host on the network.")
    var noDiscovery = false
    @Flag(help: "Don't announce the host over Bluetooth, where there is an adapter.")
    var noBluetooth = false
    @Option(
        help:
            "Viewers without a code: ask about each, let in all, or none. (default: ask; none if there is neither a terminal nor a desktop that shows notices)"
    )
    var accept: Door.Acceptance?

    @OptionGroup var code: CodeOptions
    @OptionGroup var doorCode: DoorCodeOptions
    @Flag(help: "Let in only viewers that were paired before.")
    var trustedOnly = false
    @Flag(
        help:
            "Pair for this time only: neither side remembers the other, and a viewer that is started again has to be let in again."
    )
    var once = false

    @OptionGroup var sending: SendingOptions

    @Option(
        help: ArgumentHelp(
            "Record the stream as it is sent (.mkv or .mp4), with or without viewers.", valueName: "file"))
    var record: String?

    @OptionGroup var web: WebOptions
    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var spoken: SpokenOptions
    @Option(help: ArgumentHelp("Whether viewers may write notes.", valueName: "on|off"))
    var notes = Switch.on

    @OptionGroup var notices: NoticeOptions
    @OptionGroup var hooks: HookOptions
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var versions: VersionOptions
    @OptionGroup var common: RunOptions
    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        if trustedOnly,
            accept != nil || code.code != nil || code.codeFile != nil || doorCode.codeOnce || once
                || versions.allowUnencrypted
        {
            throw ValidationError(
                "--trusted-only lets in nobody new: leave --accept, --code, --code-file, --code-once, --once and --allow-unencrypted out."
            )
        }
        guard !trustedOnly || !web.web else {
            throw ValidationError("--trusted-only lets in nobody new, and a browser is always new: leave --web out.")
        }
        guard web.web || gateway.webGateway.isEmpty else {
            throw ValidationError("--web-gateway is for --web, whose page lets browsers in: add that, or leave it out.")
        }
        try spoken.check(json: common.json, accept: accept)
        try ValidationError.check(name: name)
    }

    func run() throws {
        // Closed last: `beamroom stop` waits for that.
        var control: ControlSocket?
        defer { control?.close() }
        let context = CommandContext(
            json: common.json, commands: hooks.commands, figures: metrics.figures(of: "share"),
            logLevel: common.logLevel)
        defer { context.close() }
        if let atLogin { return try LoginService.set(.share, atLogin, context) }
        if sound.listAudio { return try sound.printList(context) }
        if capture.isList { return try capture.printList(context) }
        try context.openMetrics(metrics.metrics)
        let reload = SettingsReload(context)
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit, reload: reload.handler)
        defer { withExtendedLifetime(endings) {} }
        let quiet = capture.quiet()
        defer { quiet.stop() }
        let notices = self.notices.open(quiet)
        defer { notices?.stop() }
        let asking = Asking(self, context.console, notices)
        let terminal = TerminalQuestions(context.console, programs: context.programs, keyboard: spoken.keyboard)
        let prompt = PairingPrompt(
            context.console, terminal, wish: "watch", mirror: notices, isAskedElsewhere: asking.isByNotice)
        let reporter: ShareReporter
        let host: Host
        let sent: SendingShare?
        do {
            sent = try send(context, terminal)
        } catch {
            return try context.conclude(context.latch.current ?? .failed("\(error)"))
        }
        if sent == nil, sending.to != nil { return try context.conclude(context.latch.wait()) }
        defer { sent?.viewer.stop() }
        do {
            var options = try options(context, asking)
            if let receiver = sent?.receiver {
                options.server.session.door.trust.expected = [receiver.device: receiver.name]
            }
            options.onWatched = { quiet.set($0) }
            let made = ShareReporter(
                context, prompt: prompt, invitation: invitation(context.console, options, asking), notices: notices)
            reporter = made
            host = try Host(options) { notice in
                made.handle(notice)
                if case .session(let event) = notice { sent?.handle(event) }
            }
        } catch {
            // Ctrl-C while the person was to choose.
            let isWish = (error as? CaptureError)?.isWish == true
            let failure = isWish ? context.ending(byWish: "\(error)") : .failed("\(error)")
            return try context.conclude(context.latch.current ?? failure)
        }
        let away = SendingAway(context, prompt: prompt, host: host)
        context.actions.connect(
            ProgramActions.Handlers(
                write: { host.write($0) }, pause: { host.setPaused($0) },
                kick: { away.sendAway($0, forGood: $1) }))
        var commands = TerminalQuestions.Commands()
        commands.note = { host.write(.note($0)) }
        commands.pause = { host.setPaused(!host.isPaused) }
        commands.putOut = { away.ask() }
        commands.kick = { away.ask($0) }
        if asking.showsCode || web.web && context.console.isTerminal {
            commands.newCode = { [showsCode = asking.showsCode, web = web.web && web.webCodeFile == nil] in
                if showsCode { host.renewCode() }
                if web { host.renewWebCode() }
            }
        }
        if web.web { commands.web = { reporter.showWeb(host.gatewayDoors.map { ($0.address, $0.fragment) }) } }
        prompt.setCommands(commands)
        prompt.start { [host] connection, accept in host.decide(connection, accept: accept) }
        reporter.ready(host)
        reload.connect(reloadable(host, context, notices))
        if let sent { sent.reporter.offer(host.description.controlPort, by: sent.viewer) }
        control = context.openControl { reporter.status(.share, host) }
        let ticker = EverySecond {
            reporter.tick(host)
            sent?.reporter.tick()
            host.refresh()
        }
        let ending = context.latch.wait()
        ticker.cancel()
        notices?.hide()
        host.stop(because: reporter.farewell)
        reporter.summarise(host)
        try context.conclude(reporter.verdict(ending))
    }

    /// Finds the receiver. Nil: there is none to be found, or the program is to end.
    private func send(_ context: CommandContext, _ terminal: TerminalQuestions) throws -> SendingShare? {
        guard let target = sending.to else { return nil }
        return try SendingShare(
            context, sending, target, terminal: terminal, name: shownName, once: once, canAsk: spoken.canAsk)
    }

    /// As viewers read it: both ends must have the same name when they pair.
    private var shownName: String { ShownText.line(name ?? MachineName.current) }

    /// What changes when the settings are read again.
    private func reloadable(_ host: Host, _ context: CommandContext, _ notices: ShareNotices?) -> SettingsReload.Subject
    {
        SettingsReload.Subject(
            atOnce: ["accept", "trusted-only", "code", "log-level", "on-start", "on-join", "on-leave", "on-stop"],
            status: { "“\(host.description.name)” is shared" }, reloadDevices: { host.reloadDevices() }
        ) { command, changed in
            guard let command = command as? ShareCommand else { return }
            context.apply(commands: command.hooks.commands, logLevel: command.common.logLevel)
            if !changed.isDisjoint(with: ["accept", "trusted-only"]) {
                host.setPolicy(
                    Asking(command, context.console, notices).acceptance, takesNewViewers: !command.trustedOnly)
            }
            if changed.contains("code"), let code = command.code.code { host.setCode(code) }
        }
    }

    /// How those who bring no code are let in, and who is asked.
    private struct Asking {
        let acceptance: Door.Acceptance
        /// Nobody is at a terminal, and the desktop's notices ask.
        let isByNotice: Bool
        let showsCode: Bool

        init(_ command: ShareCommand, _ console: Console, _ notices: ShareNotices?) {
            let mayAsk = !command.trustedOnly && (command.accept ?? .ask) == .ask
            isByNotice = mayAsk && !command.spoken.canAsk && notices?.canAsk == true
            acceptance = command.accept ?? (mayAsk && (command.spoken.canAsk || isByNotice) ? .ask : .none)
            // On a terminal only: a code must not get into a log. Nobody needs one if all are let in.
            showsCode = console.isTerminal && !command.trustedOnly && acceptance != .all
        }
    }

    private func invitation(
        _ console: Console, _ options: HostOptions, _ asking: Asking
    ) -> DoorReporter.Invitation {
        DoorReporter.Invitation(
            acceptance: asking.acceptance, isTrustedOnly: trustedOnly, showsCode: asking.showsCode,
            hasCode: code.code != nil || code.codeFile != nil, service: options.server.session.door.trust.code.service,
            codeFile: code.codeFile, allowsUnencrypted: versions.allowUnencrypted,
            web: web.invitation(isTerminal: console.isTerminal))
    }

    private func options(_ context: CommandContext, _ asking: Asking) throws -> HostOptions {
        let console = context.console
        let name = shownName
        let store = try TrustStore()
        let identity = try store.identity()
        let hostCode = doorCode.hostCode(
            try code.read(), isShown: asking.showsCode, isFile: code.codeFile != nil)
        let remembered = try store.devices().filter { $0.roles.contains(.viewer) }
        var options = try capture.hostOptions(
            sound, name: name, store: store,
            server: HostServer.Options(
                bindAddress: serving.bind, controlPort: serving.port, mediaPort: serving.mediaPort, identity: identity,
                session: HostSession.Configuration(
                    door: Door.Configuration(
                        acceptance: asking.acceptance, deviceName: name,
                        trust: HostTrust(
                            own: identity.deviceKey,
                            remembered: Dictionary(remembered.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }),
                            code: hostCode, takesNewViewers: !trustedOnly, remembersNewViewers: !once),
                        allowsUnencrypted: versions.allowUnencrypted, mostViewers: serving.maxViewers),
                    room: LogOptions(signing: identity.roomSigning, name: name, takesNotes: notes.isOn))),
            context, while: { context.latch.current == nil })
        let webCode = try web.code(isTerminal: console.isTerminal, while: { context.latch.current == nil })
        options.server.session.door.webCode = webCode
        options.web = try web.server(
            bind: serving.bind, name: name, store: store, asks: asking.acceptance != .none,
            hasCode: webCode?.current != nil)
        options.gateways = try gateway.gateways()
        options.recordPath = record
        options.captionsPath = spoken.captions
        options.transcriptPath = spoken.transcript
        options.isAnnounced = !noDiscovery
        options.usesBluetooth = !noBluetooth
        return options
    }
}

/// This machine's host name; `BeamRoom` if it has none.
enum MachineName {
    static var current: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "BeamRoom" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name.isEmpty ? "BeamRoom" : name
    }
}
