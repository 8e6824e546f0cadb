import ArgumentParser
import BeamCodec
import BeamDisplay
import BeamMedia
import BeamProtocol
import BeamTrust
import BeamViewer
import Glibc

/// `beamroom watch`.
struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watches a shared screen.",
        discussion: """
            Without an argument it searches for hosts. If there is one, it is watched; if there are several, you pick one.
            In the window: f or F11 or a double click for full screen, i for statistics, c for captions, t for the transcript,
            n to write a note, q to end.

            With 2 to 16 hosts the window shows all of them in a grid. 1 to 9 or a click shows one alone, g or Escape all;
            Tab and the arrow keys move the focus, and i, c, t and n are for the host in focus. Each host that isn't known
            is asked for its code in turn. In --json each event has the host as it was named in “host”.
            The exit status is the worst of all: 1 if the program couldn't start, 2 if a host has refused or no picture of it
            came before --time-limit, else 0.
            """)

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
    @OptionGroup var code: CodeOptions
    @Flag(help: "Don't remember the host after this viewer ends.")
    var once = false
    @Flag(help: "Accept another host at this address than the last time, because another machine has it now.")
    var newHost = false

    @Flag(name: [.short, .long], help: "Fill the screen.")
    var fullscreen = false
    @Flag(help: "Open no window, for recording or measuring.")
    var noWindow = false
    @Option(help: ArgumentHelp("The X display for the window. (default: $DISPLAY)", valueName: "display"))
    var display: String?
    @Option(help: "How the window is drawn: automatic, opengl or software.")
    var renderer = RendererChoice.automatic
    @Option(help: "Whether OpenGL waits for the display's refresh: auto (if that adds less than a frame), on or off.")
    var vsync = VerticalSync.automatic
    @Option(
        help: ArgumentHelp(
            "The decoder: auto (a graphics device for large pictures only), software, vaapi or vaapi:DEVICE.",
            valueName: "decoder"), transform: DecoderChoice.init(parsing:))
    var videoDecoder = DecoderChoice.automatic
    @Option(
        help: ArgumentHelp(
            "The largest pictures to decode. This limits the memory that a host's stream can take.",
            valueName: "WxH"), transform: PixelSize.reading(OptionWords.size))
    var maxPicture = StreamBounds.standardLargest
    @Option(
        help: ArgumentHelp(
            "Delay that evens out jitter: auto (0 on a quiet network), or 0 to 2000 ms.",
            valueName: "ms"), transform: PlayoutDelay.reading(OptionWords.playoutDelay))
    var buffer = PlayoutDelay.automatic
    @Flag(help: "Show statistics in the window.")
    var stats = false

    @Option(help: ArgumentHelp("Record the stream as it is received (.mkv or .mp4).", valueName: "file"))
    var record: String?
    @Option(help: ArgumentHelp("Write the decoded pictures (.y4m).", valueName: "file"))
    var frames: String?

    @Option(help: ArgumentHelp("Whether the window shows captions and notes.", valueName: "on|off"))
    var captions = Switch.on
    @Option(
        help: ArgumentHelp(
            "Write captions, notes and alerts, from the first one on, into a file (.txt, .srt, .vtt or .jsonl).",
            valueName: "file"))
    var transcript: String?

    @Flag(help: "Don't look for hosts over Bluetooth, where there is an adapter.")
    var noBluetooth = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        try checkHosts()
        if auto != nil, !hosts.isEmpty || code.code != nil || code.codeFile != nil || once {
            throw ValidationError(
                "--auto names a paired host: leave the host argument, --code, --code-file and --once out.")
        }
        if auto != nil, common.allowUnencrypted {
            throw ValidationError(
                "--auto checks the host's key, which needs encryption: leave --allow-unencrypted out.")
        }
        if noWindow, fullscreen || stats || display != nil {
            throw ValidationError("--fullscreen, --stats and --display need a window: leave --no-window out.")
        }
    }

    func run() throws {
        let context = CommandContext(json: common.json)
        defer { context.close() }
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit)
        defer { withExtendedLifetime(endings) {} }
        let desk = QuestionDesk(context.console, programs: context.programs)
        if hosts.count > 1 { return try watchSeveral(context, desk) }
        let reporter = WatchReporter(
            context,
            WatchReporter.Purpose(
                hasWindow: !noWindow, files: [record, frames, transcript].compactMap { $0 }.count,
                timeLimit: common.timeLimit), desk: desk)
        let viewer: Viewer
        do {
            viewer = try Viewer(options(for: hosts.first) { context.latch.current == nil }) { reporter.handle($0) }
        } catch {
            // Ctrl-C while the code was awaited.
            if let ending = context.latch.current { return try context.conclude(ending) }
            return try context.conclude(.failed("\(error)"))
        }
        context.programs?.connect(ProgramInput.Handlers(write: { viewer.write($0) }))
        reporter.connect(to: viewer)
        desk.readPrograms()
        let ticker = EverySecond { context.console.live(reporter.tick(viewer).map { [$0] } ?? []) }
        /// Ends what runs, and says how it went. On the thread that it is called on.
        @Sendable func finish(_ ending: Ending) throws {
            ticker.cancel()
            viewer.stop()
            context.console.finish()
            reporter.summarise(viewer)
            try context.conclude(reporter.verdict(ending, viewer))
        }
        let ending = runToEnd(
            context, prepare: { () throws(DisplayError) in try ViewerWindow.prepare(for: viewer) },
            start: { viewer.start() },
            open: { () throws(DisplayError) in
                let window = try ViewerWindow(viewer) { Self.finishWithoutDisplay(context, finish) }
                return { window.run() }
            }, end: { viewer.endWindow() })
        try finish(ending)
    }

    private static let lostDisplay =
        "The display has gone: its X server has ended, or the connection to it was lost. "
        + "Watch again when it is back."

    /// Returns when the person, the time limit or the host has ended the program.
    ///
    /// - Parameters:
    ///   - prepare: finds out whether there is a display.
    ///   - start: begins to watch.
    ///   - open: opens the window; returns what runs it until it is closed.
    ///   - end: makes the window close; called on any thread.
    func runToEnd(
        _ context: CommandContext, prepare: @MainActor () throws(DisplayError) -> Void, start: @MainActor () -> Void,
        open: @MainActor () throws(DisplayError) -> @MainActor () -> Void, end: @escaping @Sendable () -> Void
    ) -> Ending {
        // The command runs on the main thread, as SDL requires for a window.
        MainActor.assumeIsolated {
            guard !noWindow else {
                start()
                return context.latch.wait()
            }
            do throws(DisplayError) {
                try prepare()
                // Connects while the window opens, because both take time.
                start()
                let run = try open()
                context.latch.whenEnded(end)
                run()
                context.latch.end(.done)
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            return context.latch.wait()
        }
    }

    /// When the display has gone: ends the program on the present thread, while the main thread is blocked for ever.
    static func finishWithoutDisplay(_ context: CommandContext, _ finish: (Ending) throws -> Void) -> Never {
        context.latch.end(.failed(lostDisplay))
        var status: CInt = 0
        do { try finish(context.latch.wait()) } catch { status = (error as? ExitCode)?.rawValue ?? 1 }
        context.close()
        _exit(status)
    }

    /// `isWanted`: the program isn't to end yet.
    func options(for host: WatchTarget?, while isWanted: () -> Bool) throws -> ViewerOptions {
        let target: ViewerOptions.Target =
            if let auto {
                .name(auto, port: WatchTarget.defaultPort)
            } else {
                switch host?.kind {
                case .endpoint(let endpoint): .endpoint(endpoint)
                case .name(let name): .name(name, port: WatchTarget.defaultPort)
                case nil: .anyHost
                }
            }
        let trust = ViewerOptions.Trust(
            store: try TrustStore(), deviceName: MachineName.current, code: try code.read(while: isWanted),
            asksForCode: auto == nil && (!noWindow || TerminalQuestions.hasPerson), pairs: auto == nil,
            remembersNewHosts: !once, allowsUnencrypted: common.allowUnencrypted, isNewHost: newHost)
        var options = ViewerOptions(
            target: target, trust: trust, window: windowOptions, decoder: videoDecoder,
            buffer: buffer.duration, recordPath: record, framesPath: frames, transcriptPath: transcript)
        options.bounds = StreamBounds(largest: maxPicture)
        options.usesBluetooth = !noBluetooth
        return options
    }

    /// Nil: no window.
    var windowOptions: WindowOptions? {
        noWindow
            ? nil
            : WindowOptions(
                title: "BeamRoom", isFullscreen: fullscreen, renderer: renderer, verticalSync: vsync, display: display,
                showsStatistics: stats, showsCaptions: captions.isOn, allowsNotes: true)
    }
}

extension RendererChoice: ExpressibleByArgument {}
extension VerticalSync: ExpressibleByArgument {}
