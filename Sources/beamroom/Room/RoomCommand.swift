import ArgumentParser
import BeamDesktop
import BeamDisplay
import BeamHost
import BeamIdentity
import BeamMedia
import BeamMeeting
import BeamNetwork
import BeamSession
import BeamSound
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire

/// `beamroom room`.
struct RoomCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room",
        abstract: "Meets others in a room: everybody may share a screen, and sees the others'.",
        discussion: """
            `beamroom room study` makes a room of that name, or enters it if somebody on this network is in it. A newcomer types
            the code that all members show, or asks, and any member compares digits; all know the newcomer then. Nobody is
            the server: whoever leaves, the others go on. A room takes 8 people. Whoever was in a room before comes back without a
            code. Without a name it enters the only room on this network, or else makes one that is named after this machine. If
            several rooms of the name are there, it asks which one is meant; nothing is shared in a room that has proved
            nothing (by the code, a known key, or its address in --at) before you have said that it is the right one.

            In the window: s shares your screen and ends that, p pauses it, w shows who is here; 1 to 8 or a click shows one
            screen alone, g or Escape all of them; n writes a note, t shows the transcript, c hides captions, i shows
            statistics, f fills the screen, q leaves. If another room of this name is offered, Enter joins it, or j in the
            terminal. The same keys s, p, w and n are in the terminal, x to put somebody out, c to replace the code at all
            members, and r to show a screen through another member where that is asked. Newcomers without the code are asked about in the window and in the terminal: y or n.
            The exit status is 2 if this device isn't let in or is put out, and 1 if the program couldn't start.
            """.inParagraphs)

    @Argument(help: ArgumentHelp("The room's name.", valueName: "name"))
    var room: String?
    @Option(
        help: ArgumentHelp(
            "Enter through the member at this address, where the room isn't found by itself.", valueName: "host[:port]"),
        transform: WatchTarget.init(parsing:))
    var at: WatchTarget?
    @Option(help: ArgumentHelp("Forget the rooms of this name, and do nothing else.", valueName: "name"))
    var forget: String?

    @Option(help: ArgumentHelp("Your name in the room. (default: this machine's name)", valueName: "name"))
    var name: String?
    @OptionGroup var code: CodeOptions
    @OptionGroup var doorCode: DoorCodeOptions
    @Option(
        help:
            "Newcomers without a code: ask about each, let in all, or none. (default: ask, or none without a terminal and a window)"
    )
    var accept: Door.Acceptance?

    @Flag(help: "Share your screen from the beginning.")
    var share = false
    @OptionGroup var capture: CaptureOptions
    @OptionGroup var sound: SoundOptions

    @Flag(help: "Watch nothing that others share, and open no window: for a machine that only shares or writes.")
    var noWatch = false
    @Option(
        help: ArgumentHelp(
            """
            Screens of members that can't be reached directly: ask about each whether to show it through another member, who \
            could change it, show all, or none.
            """, valueName: "ask|all|none"))
    var relays = MeshServer.Relaying.ask
    @Option(
        help: ArgumentHelp("The X display for the window. (default: $DISPLAY)", valueName: "display"))
    var windowDisplay: String?
    @OptionGroup var playback: PlaybackOptions

    @OptionGroup var web: WebOptions
    @OptionGroup var spoken: SpokenOptions

    @Option(help: ArgumentHelp("Listen on this address only. (default: all)", valueName: "address"))
    var bind: String?
    @Option(
        help: "The TCP port for members and newcomers. If it is in use, another one is taken. (default: 52345)",
        transform: UInt16.reading(OptionText.port))
    var port = AddressText.usualPort
    @Option(
        help: "The UDP port of the pictures. If it is in use, another one is taken. (default: 52346)",
        transform: UInt16.reading(OptionText.port))
    var mediaPort: UInt16 = 52346
    @Flag(help: "Don't announce the room on the network, and don't look for it there.")
    var noDiscovery = false

    @OptionGroup var notices: NoticeOptions
    @OptionGroup var hooks: HookOptions
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var common: RunOptions
    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        try ValidationError.check(name: room, of: "The room's name")
        try ValidationError.check(name: name)
        if let at, at.address == nil {
            throw ValidationError(
                "--at takes an address or a host name of the network, as in 192.0.2.7, 192.0.2.7:52345 or desk.local.")
        }
        try spoken.check(json: common.json, accept: accept)
        if playback.noWindow, windowDisplay != nil {
            throw ValidationError("--window-display needs a window: leave --no-window out.")
        }
        if noWatch, playback.fullscreen || playback.alwaysOnTop || playback.stats || windowDisplay != nil {
            throw ValidationError(
                "--fullscreen, --always-on-top, --stats and --window-display are about a window: leave --no-watch out.")
        }
        if forget != nil, room != nil || at != nil || share {
            throw ValidationError("--forget is used alone.")
        }
    }

    func run() throws {
        // Closed last: `beamroom stop` waits for that.
        var control: ControlSocket?
        defer { control?.close() }
        let context = CommandContext(
            json: common.json, commands: hooks.commands, figures: metrics.figures(of: "room"), logLevel: common.logLevel
        )
        defer { context.close() }
        if let forget { return try forgetRooms(forget, context) }
        if sound.listAudio { return try sound.printList(context) }
        if capture.isList { return try capture.printList(context) }
        try context.openMetrics(metrics.metrics)
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit)
        defer { withExtendedLifetime(endings) {} }
        do {
            try meet(context, &control)
        } catch let error as ExitStatus {
            throw error
        } catch {
            // Ctrl-C while the code was awaited.
            try context.conclude(context.latch.current ?? .failed("\(error)"))
        }
    }

    private func forgetRooms(_ name: String, _ context: CommandContext) throws {
        do {
            let count = try TrustStore().forgetRooms(named: name)
            guard count > 0 else {
                return try context.conclude(.failed("No room called “\(PeerText.name(name))” is known here."))
            }
            context.say(
                "“\(PeerText.name(name))” is forgotten. The others still know this device, until they put it out.")
        } catch let error as TrustStoreError {
            try context.conclude(.failed("\(error)"))
        }
    }

    private func meet(_ context: CommandContext, _ control: inout ControlSocket?) throws {
        let store = try TrustStore()
        let identity = try store.identity()
        let given = try code.read { context.latch.current == nil }
        if let windowOptions { try MainActor.assumeIsolated { try MeshWindow.prepare(windowOptions) } }

        let terminal = TerminalQuestions(context.console, programs: context.programs, keyboard: spoken.keyboard)
        let quiet = capture.quiet()
        defer { quiet.stop() }
        let notices = self.notices.open(quiet)
        defer { notices?.stop() }
        let prompt = PairingPrompt(
            context.console, terminal, wish: "enter", mirror: notices, isAskedElsewhere: windowOptions != nil)
        let presence = noDiscovery ? nil : MeshPresence()
        let acquaintances = { @Sendable (room: String) in
            MeetingEntry.acquaintances(in: room, store: store, own: identity)
        }
        let entry = MeetingEntry(
            context, store, presence: presence, deviceName: ownName, code: given,
            window: windowOptions, terminal: terminal, acquaintances: acquaintances)
        let meeting = Meeting(
            context, try settings(store, identity, given, context, quiet, acquaintances), person: prompt, entry: entry,
            presence: presence)
        // What may wait for the network or the person comes after all that can fail at once.
        try meeting.open()
        presence?.start()
        var commands = TerminalQuestions.Commands()
        commands.note = { meeting.write(.note($0)) }
        commands.pause = { meeting.togglePause() }
        commands.share = { meeting.toggleShare() }
        commands.people = { meeting.listPeople() }
        commands.putOut = { meeting.askWhomToPutOut() }
        if web.web {
            commands.web = { meeting.showWeb() }
            commands.kick = { meeting.kick($0) }
        }
        commands.newCode = { meeting.renewCode() }
        commands.join = { meeting.joinOffered() }
        commands.relay = { meeting.takeRelay() }
        control = context.openControl { meeting.status }
        try MeetingStay(
            context, meeting, entry, window: windowOptions, room: room.map { ShownText.line($0) },
            machine: MachineName.current
        ).run(at: at?.address) { prompt.setCommands(commands) }
    }

    // MARK: What the options mean

    private var acceptance: Door.Acceptance {
        accept ?? (spoken.canAsk || windowOptions != nil ? .ask : .none)
    }

    /// As the others read it.
    private var ownName: String { ShownText.line(name ?? MachineName.current) }

    /// Nil: no window.
    private var windowOptions: WindowOptions? {
        noWatch ? nil : playback.window(on: windowDisplay, showsCaptions: true)
    }

    private func settings(
        _ store: TrustStore, _ identity: LocalIdentity, _ given: PairingCode?, _ context: CommandContext,
        _ quiet: DesktopQuiet, _ acquaintances: @escaping @Sendable (String) -> [DeviceKey: String]
    ) throws -> Meeting.Settings {
        let console = context.console
        // A code is shown on a terminal and in the window only: it must not get into a log. Nobody needs one if all are let
        // in.
        let showsCode = console.isTerminal && acceptance != .all
        let hasCode = showsCode || windowOptions != nil && acceptance != .all
        let makeCode = { @Sendable [doorCode, isFile = code.codeFile != nil] in
            doorCode.hostCode(given, isShown: hasCode, isFile: isFile)
        }
        let hostCode = makeCode()
        let name = ownName
        let door = Door.Configuration(
            acceptance: acceptance, deviceName: name,
            trust: HostTrust(
                own: identity.deviceKey, code: hostCode, takesNewViewers: true, remembersNewViewers: false)
        )
        let (window, playback, capture, sound, mediaPort) = (windowOptions, playback, capture, sound, mediaPort)
        let trust = ViewerOptions.Trust(store: store, deviceName: name, pairs: false, remembersNewHosts: false)
        var settings = Meeting.Settings(
            server: MeshServer.Options(
                bindAddress: bind, controlPort: port, identity: identity, door: door, name: name, relaying: relays),
            makeCode: makeCode, store: store,
            invitation: DoorReporter.Invitation(
                acceptance: acceptance, isTrustedOnly: false, showsCode: showsCode,
                hasCode: code.code != nil || code.codeFile != nil, service: hostCode.service, codeFile: code.codeFile,
                allowsUnencrypted: false),
            viewing: { room in
                MeshViewers.Options(
                    room: room, trust: trust, window: window, decoder: playback.videoDecoder,
                    bounds: playback.bounds, buffer: playback.buffer.duration, sound: playback.sound)
            },
            sharing: { room, isWanted in
                var options = try capture.hostOptions(
                    sound, name: name, store: store,
                    server: HostServer.Options(
                        mediaPort: mediaPort, identity: identity,
                        session: HostSession.Configuration(
                            door: .known(to: identity.deviceKey, deviceName: name))),
                    context, while: isWanted)
                options.isAnnounced = false
                options.usesBluetooth = false
                options.room = room
                options.onWatched = { quiet.set($0) }
                return options
            },
            acquaintances: acquaintances)
        settings.hasWindow = window != nil
        settings.sharesPlayedSound = capture.sharesScreen && sound.isPlayedHere
        settings.watches = !noWatch
        settings.sharesAtOnce = share
        settings.captionsPath = spoken.captions
        settings.transcriptPath = spoken.transcript
        settings.web = try webSettings(store, identity, context)
        return settings
    }

    /// Browsers have a door of their own, at which nobody is known. Nil: none are let in.
    private func webSettings(
        _ store: TrustStore, _ identity: LocalIdentity, _ context: CommandContext
    ) throws -> Meeting.Web? {
        // The code is shown on a terminal and in the window only.
        let isShown = context.console.isTerminal || windowOptions != nil
        guard let invitation = web.invitation(isTerminal: context.console.isTerminal),
            let code = try web.code(isTerminal: isShown, while: { context.latch.current == nil }),
            var server = try web.server(
                bind: bind, name: ownName, store: store, asks: acceptance != .none, hasCode: code.current != nil)
        else { return nil }
        server.stream.usesFullChroma = capture.chroma != .subsampled
        server.stream.hasSound = sound.sound != .off
        var door = Door.Configuration(
            acceptance: acceptance, deviceName: ownName,
            trust: HostTrust(
                own: identity.deviceKey, code: .none, takesNewViewers: true, remembersNewViewers: false))
        door.webCode = code
        return Meeting.Web(server: server, door: door, invitation: invitation)
    }
}
