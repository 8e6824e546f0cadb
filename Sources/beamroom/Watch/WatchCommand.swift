import ArgumentParser
import BeamCamera
import BeamCodec
import BeamDisplay
import BeamMedia
import BeamTerminal
import BeamTrust
import BeamViewer
import Glibc

/// `beamroom watch`.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watches a shared screen.",
        discussion: """
            Without an argument it searches for hosts. If there is one, it is watched; otherwise you pick one, or type an address.
            In the window: f or F11 or a double click for full screen, i for statistics, c for captions, t for the transcript,
            n to write a note, m for sound off and on, + and - for its volume, Ctrl and the wheel to zoom, F12 for a
            screenshot, a right click for a menu, ? for all keys, q to end.

            With --wait this machine is a receiver, for a meeting room for example: it shows its name and a code, and
            waits. `beamroom share --to NAME` on another machine shows that one's screen here, once its person has typed
            the code; a machine that was paired so needs no code again (except with --once). One screen is shown at a
            time. Escape or q ends what is shown, and q the receiver.

            With 2 to 16 hosts the window shows all of them in a grid. 1 to 9 or a click shows one alone, g or Escape all;
            Tab and the arrow keys move the focus, and i, c, t and n are for the host in focus. Each host that isn't known
            is asked for its code in turn. In --json each event has the host as it was named in “host”.
            The exit status is the worst of all: 1 if the program couldn't start, 2 if a host has refused or no picture of it
            came before --time-limit, else 0.
            """.inParagraphs)

    @Argument(
        help: ArgumentHelp(
            "The host's name, address or address:port. Up to 16 hosts are shown in one window.", valueName: "host"),
        transform: WatchTarget.init(parsing:))
    var hosts: [WatchTarget] = []
    @Option(
        help: ArgumentHelp(
            "Watch this paired host whenever it appears, without any question.",
            valueName: "name"))
    var auto: String?
    @Option(
        help: ArgumentHelp("What the host's person calls you. (default: this machine's name)", valueName: "name"))
    var name: String?
    @OptionGroup var code: CodeOptions
    @Flag(help: "Don't remember the host after this viewer ends.")
    var once = false
    @Flag(help: "Accept another host at this address than the last time, because another machine has it now.")
    var newHost = false

    @Option(help: ArgumentHelp("The X display for the window. (default: $DISPLAY)", valueName: "display"))
    var display: String?
    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var quality: QualityOptions
    @OptionGroup var receiver: ReceiverOptions

    @Option(help: ArgumentHelp("Record the stream as it is received (.mkv or .mp4).", valueName: "file"))
    var record: String?
    @Option(help: ArgumentHelp("Write the decoded pictures (.y4m).", valueName: "file"))
    var frames: String?

    @Option(help: ArgumentHelp("Write the decoded sound (.wav).", valueName: "file"))
    var sound: String?
    @OptionGroup var camera: CameraOptions

    @Option(help: ArgumentHelp("Whether the window shows captions and notes.", valueName: "on|off"))
    var captions = Switch.on
    @Option(
        help: ArgumentHelp(
            "Write captions, notes and alerts, from the first one on, into a file (.txt, .srt, .vtt or .jsonl).",
            valueName: "file"))
    var transcript: String?

    @Flag(help: "Don't look for hosts over Bluetooth, where there is an adapter.")
    var noBluetooth = false

    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var versions: VersionOptions
    @OptionGroup var common: RunOptions
    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        try checkReceiver()
        try checkHosts()
        try ValidationError.check(name: name)
        if auto != nil, !hosts.isEmpty || code.code != nil || code.codeFile != nil || once {
            throw ValidationError(
                "--auto names a paired host: leave the host argument, --code, --code-file and --once out.")
        }
        if auto != nil, versions.allowUnencrypted {
            throw ValidationError(
                "--auto checks the host's key, which needs encryption: leave --allow-unencrypted out.")
        }
        if playback.noWindow, display != nil {
            throw ValidationError("--display needs a window: leave --no-window out.")
        }
    }

    func run() throws {
        let context = CommandContext(
            json: common.json, figures: metrics.figures(of: "watch"), logLevel: common.logLevel)
        defer { context.close() }
        if let atLogin = receiver.atLogin { return try LoginService.set(.receiver, atLogin, context) }
        try context.openMetrics(metrics.metrics)
        let reload = receiver.wait ? SettingsReload(context) : nil
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit, reload: reload?.handler)
        defer { withExtendedLifetime(endings) {} }
        if let reload { return try waitForSenders(context, reload) }
        for doubt in hosts.compactMap(\.doubt) { context.say(doubt) }
        let desk = QuestionDesk(context.console, programs: context.programs)
        if hosts.count > 1 { return try watchSeveral(context, desk) }
        let reporter = WatchReporter(
            context,
            WatchReporter.Purpose(
                hasWindow: !playback.noWindow,
                files: [record, frames, sound, transcript].compactMap { $0 }.count + camera.places.count,
                timeLimit: common.timeLimit), desk: desk)
        let viewer: Viewer
        do {
            viewer = try Viewer(options(for: hosts.first) { context.latch.current == nil }) { reporter.handle($0) }
        } catch {
            // Ctrl-C while the code was awaited.
            if let ending = context.latch.current { return try context.conclude(ending) }
            return try context.conclude(.failed("\(error)"))
        }
        context.actions.connect(
            ProgramActions.Handlers(write: { viewer.write($0) }, quality: { viewer.setQuality($1) }))
        reporter.connect(to: viewer)
        desk.readPrograms()
        let rooms = RoomNameWatch(hosts.first)
        defer { rooms?.stop() }
        let ticker = EverySecond {
            context.console.live(reporter.tick(viewer).map { [$0] } ?? [])
            guard let words = rooms?.look(hasAnswered: reporter.hasAnswer) else { return }
            // A paired host of that name may come.
            if viewer.knowsHost { context.say(words) } else { context.latch.end(.failed(words)) }
        }
        /// Ends what runs, and says how it went. On the thread that it is called on.
        @Sendable func finish(_ ending: Ending) throws {
            ticker.cancel()
            viewer.stop()
            context.console.finish()
            reporter.summarise(viewer)
            try context.conclude(reporter.verdict(ending, viewer))
        }
        let ending = MainWindow(hasWindow: !playback.noWindow).run(
            context, prepare: { () throws(DisplayError) in try ViewerWindow.prepare(for: viewer) },
            start: { viewer.start() },
            open: { () throws(DisplayError) in
                let window = try ViewerWindow(viewer) { context.endWithoutDisplay(finish) }
                if let words = window.unmetWish { context.say("Warning: \(words)") }
                return { window.run() }
            }, end: { viewer.endWindow() })
        try finish(ending)
    }

    /// `isWanted`: the program isn't to end yet.
    func options(for host: WatchTarget?, while isWanted: () -> Bool) throws -> ViewerOptions {
        let target: ViewerOptions.Target =
            if let auto {
                .name(auto, address: (try? WatchTarget(parsing: auto))?.address)
            } else {
                host?.target ?? .anyHost
            }
        let trust = ViewerOptions.Trust(
            store: try TrustStore(), deviceName: ShownText.line(name ?? MachineName.current),
            code: try code.read(while: isWanted),
            asksForCode: auto == nil && (!playback.noWindow || TerminalQuestions.hasPerson), pairs: auto == nil,
            remembersNewHosts: !once, allowsUnencrypted: versions.allowUnencrypted, isNewHost: newHost)
        var options = ViewerOptions(
            target: target, trust: trust, window: windowOptions, decoder: playback.videoDecoder,
            buffer: playback.buffer.duration, recordPath: record, framesPath: frames, transcriptPath: transcript)
        options.bounds = playback.bounds
        options.quality = quality.wish
        options.usesBluetooth = !noBluetooth
        options.readAddress = { WatchTarget.reading($0) }
        options.sound = playback.sound
        options.sound.path = sound
        options.cameras = camera.places
        options.cameraSize = camera.cameraSize
        return options
    }

    /// Nil: no window.
    var windowOptions: WindowOptions? { playback.window(on: display, showsCaptions: captions.isOn) }
}
