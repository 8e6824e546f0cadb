import ArgumentParser
import BeamDisplay
import BeamHost
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamSound
import BeamTerminal
import BeamTrust
import BeamViewer
import Dispatch

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
    var accept: HostSession.Acceptance?

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

    @OptionGroup var common: RunOptions

    /// How long the rooms of the network are waited for.
    private static let searchTime = Duration.seconds(2)

    func validate() throws {
        for (option, text) in [("The room's name", room), ("--name", name)] {
            if let text, ShownText.line(text).isEmpty || text.utf8.count > 200 {
                throw ValidationError("\(option) takes 1 to 200 bytes of visible characters.")
            }
        }
        if let at, at.address == nil {
            throw ValidationError(
                "--at takes an address or a host name of the network, as in 192.0.2.7, 192.0.2.7:52345 or desk.local.")
        }
        try spoken.check(json: common.json, accept: accept)
        if playback.noWindow, windowDisplay != nil {
            throw ValidationError("--window-display needs a window: leave --no-window out.")
        }
        if noWatch, playback.fullscreen || playback.stats || windowDisplay != nil {
            throw ValidationError(
                "--fullscreen, --stats and --window-display show what is watched: leave --no-watch out.")
        }
        if forget != nil, room != nil || at != nil || share {
            throw ValidationError("--forget is used alone.")
        }
    }

    func run() throws {
        let context = CommandContext(json: common.json)
        defer { context.close() }
        if let forget { return try forgetRooms(forget, context) }
        if capture.isList { return try capture.printList(context) }
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit)
        defer { withExtendedLifetime(endings) {} }
        do {
            try meet(context)
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

    private func meet(_ context: CommandContext) throws {
        let store = try TrustStore()
        let identity = try store.identity()
        let given = try code.read { context.latch.current == nil }
        if let windowOptions { try MainActor.assumeIsolated { try MeshWindow.prepare(windowOptions) } }

        let terminal = TerminalQuestions(context.console, programs: context.programs, keyboard: spoken.keyboard)
        let prompt = PairingPrompt(
            context.console, terminal, wish: "enter", hasWindow: windowOptions != nil)
        let presence = noDiscovery ? nil : MeshPresence()
        let acquaintances = { @Sendable (room: String) in
            MeetingEntry.acquaintances(in: room, store: store, own: identity)
        }
        let entry = MeetingEntry(
            context: context, store: store, presence: presence, deviceName: ownName, code: given,
            window: windowOptions, terminal: terminal, acquaintances: acquaintances)
        let meeting = Meeting(
            context, settings(store, identity, given, context, acquaintances), prompt: prompt, entry: entry,
            presence: presence)
        // What may wait for the network or the person comes after all that can fail at once.
        try meeting.open()
        presence?.start()
        let wanted = room.map { ShownText.line($0) }
        let entrance: MeetingEntry.Entrance?
        do {
            entrance = try entry.find(wanted, at: at, machine: MachineName.current, within: Self.searchTime)
        } catch {
            meeting.close()
            throw error
        }
        var commands = TerminalQuestions.Commands()
        commands.note = { meeting.write(.note($0)) }
        commands.pause = { meeting.togglePause() }
        commands.share = { meeting.toggleShare() }
        commands.people = { meeting.listPeople() }
        commands.putOut = { meeting.askWhomToPutOut() }
        commands.newCode = { meeting.renewCode() }
        commands.join = { meeting.joinOffered() }
        commands.relay = { meeting.takeRelay() }
        prompt.setCommands(commands)
        try stay(in: entrance, context, meeting, entry, prompt)
    }

    /// Stays in the room, and in those for which it is left, until the end.
    private func stay(
        in first: MeetingEntry.Entrance?, _ context: CommandContext, _ meeting: Meeting, _ entry: MeetingEntry,
        _ prompt: PairingPrompt
    ) throws {
        var next = first
        while let entrance = next {
            if case .resume(let known) = entrance.beginning, let problem = meeting.claim(known) {
                meeting.close()
                return try context.conclude(.failed(problem))
            }
            prompt.setOthers { meeting.hasCompany }
            prompt.start { connection, accept in meeting.decide(connection, accept: accept) }
            let ticker = EverySecond { meeting.tick() }
            /// Ends what runs, and says how it went. On the thread that it is called on.
            @Sendable func finish(_ ending: Ending) throws {
                ticker.cancel()
                meeting.close()
                try context.conclude(meeting.verdict(ending))
            }
            let ending = run(context, meeting, entrance) { try finish($0) }
            if let ending { return try finish(ending) }
            ticker.cancel()
            do {
                next = try move(context, meeting, entry)
            } catch {
                meeting.close()
                throw error
            }
        }
        meeting.close()
        try context.conclude(context.latch.verdict(context.latch.wait()))
    }

    /// Runs until the end of the program, or until the room is to be left for another one: nil.
    private func run(
        _ context: CommandContext, _ meeting: Meeting, _ entrance: MeetingEntry.Entrance,
        finish: @escaping @Sendable (Ending) throws -> Void
    ) -> Ending? {
        // The command runs on the main thread, as SDL requires for a window.
        MainActor.assumeIsolated {
            let isOver = DispatchSemaphore(value: 0)
            let end = { @Sendable in
                meeting.board.endWindow()
                isOver.signal()
            }
            meeting.begin(entrance)
            do throws(DisplayError) {
                var window: MeshWindow?
                if let viewers = meeting.viewers, let windowOptions {
                    window = try MeshWindow(
                        windowOptions, board: meeting.board, viewers: viewers,
                        actions: MeshWindow.Actions(
                            write: { meeting.write($0) }, toggleShare: { meeting.toggleShare() },
                            togglePause: { meeting.togglePause() },
                            answerOffer: { $0 ? _ = meeting.joinOffered() : meeting.declineOffer() },
                            answerDoubt: { meeting.answerProof($0) },
                            decide: { meeting.decideInWindow($0, accept: $1) },
                            decideRelay: { meeting.decideRelay($0, through: $1, accept: $2) })
                    ) { context.endWithoutDisplay(finish) }
                }
                context.latch.whenEnded(end)
                meeting.whenMoving(end)
                if let window {
                    window.run()
                    // The person has closed it.
                    if meeting.wantedMove == nil { context.latch.end(.done) }
                } else {
                    isOver.wait()
                }
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            meeting.whenMoving(nil)
            return context.latch.current
        }
    }

    /// Leaves the room for another one. If that doesn't let this device in, it comes back, or makes the room anew.
    ///
    /// - Returns: nil if the program is to end.
    private func move(
        _ context: CommandContext, _ meeting: Meeting, _ entry: MeetingEntry
    ) throws -> MeetingEntry.Entrance? {
        let move = meeting.wantedMove
        let name = meeting.leave() ?? room.map { ShownText.line($0) }
        var next: MeetingEntry.Entrance?
        switch move {
        case .enter(let entrance, _): next = entrance
        case .ask(let found):
            meeting.showWaiting(at: found.room)
            let other = MeetingEntry.FoundRoom(
                name: found.room, mark: found.standing?.mark, doors: found.doors, isOptional: true)
            switch try entry.enter(other) {
            case .entered(let entrance): next = entrance
            case .ended: return nil
            case .gone: break
            case .declined:
                meeting.neighbours.avoid(found.standing?.mark)
                context.say(
                    "The other room “\(PeerText.name(found.room))” doesn't let you in, or can't be reached. You go back."
                )
            }
        case .search, nil: break
        }
        next =
            try next
            ?? entry.find(
                name, at: nil, machine: MachineName.current, within: Self.searchTime,
                avoiding: meeting.neighbours.avoided)
        if next != nil { try meeting.reopen() }
        return next
    }

    // MARK: What the options mean

    private var acceptance: HostSession.Acceptance {
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
        _ acquaintances: @escaping @Sendable (String) -> [DeviceKey: String]
    ) -> Meeting.Settings {
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
        let door = HostSession.Configuration(
            acceptance: acceptance, deviceName: name,
            trust: HostTrust(
                own: identity.deviceKey, code: hostCode, takesNewViewers: true, remembersNewViewers: false)
        )
        let (window, playback, capture, sound, mediaPort) = (windowOptions, playback, capture, sound, mediaPort)
        let trust = ViewerOptions.Trust(store: store, deviceName: name, pairs: false, remembersNewHosts: false)
        return Meeting.Settings(
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
                var options = HostOptions(
                    source: try capture.pictureSource(while: isWanted, say: { context.sayAtOnce($0) }),
                    maxSize: capture.maxSize,
                    bitRate: capture.videoBitRate?.bitsPerSecond, encoder: capture.encoder, chroma: capture.chroma,
                    name: name, store: store,
                    server: HostServer.Options(
                        mediaPort: mediaPort, identity: identity,
                        session: HostSession.Configuration(
                            acceptance: .none, deviceName: name,
                            trust: HostTrust(own: identity.deviceKey, code: .none, takesNewViewers: false))))
                options.isAnnounced = false
                options.usesBluetooth = false
                options.room = room
                options.sound = sound.sound
                options.soundBitRate = sound.audioBitRate.bitsPerSecond
                return options
            },
            hasWindow: window != nil, sharesPlayedSound: capture.source == "x11" && sound.isPlayedHere,
            watches: !noWatch, sharesAtOnce: share, captionsPath: spoken.captions,
            transcriptPath: spoken.transcript, acquaintances: acquaintances)
    }
}
