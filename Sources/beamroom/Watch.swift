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
            In the window: f or F11 or a double click for full screen, i for statistics, q to end.
            """)

    @Argument(
        help: ArgumentHelp("The host's name, address or address:port.", valueName: "host"),
        transform: WatchTarget.init(parsing:))
    var host: WatchTarget?
    @Option(
        help: ArgumentHelp(
            "Watch this paired host whenever it appears, without any question.",
            valueName: "name"))
    var auto: String?
    @OptionGroup var code: CodeOptions
    @Flag(help: "Don't remember the host after this viewer ends.")
    var once = false
    @Flag(help: "The address now belongs to another machine: accept another host there than the last time.")
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

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if auto != nil, host != nil || code.code != nil || code.codeFile != nil || once {
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
        let reporter = WatchReporter(
            context,
            WatchReporter.Purpose(
                hasWindow: !noWindow, files: [record, frames].compactMap { $0 }.count, timeLimit: common.timeLimit))
        let viewer: Viewer
        do {
            viewer = try Viewer(options { context.latch.current == nil }) { reporter.handle($0) }
        } catch {
            // Ctrl-C while the code was awaited.
            if let ending = context.latch.current { return try context.conclude(ending) }
            return try context.conclude(.failed("\(error)"))
        }
        reporter.connect(to: viewer)
        let ticker = EverySecond { reporter.tick(viewer) }
        /// Ends what runs, and says how it went. On the thread that it is called on.
        @Sendable func finish(_ ending: Ending) throws {
            ticker.cancel()
            viewer.stop()
            reporter.summarise(viewer)
            try context.conclude(reporter.verdict(ending, viewer))
        }
        let ending = runToEnd(viewer, context) {
            context.latch.end(.failed(Self.lostDisplay))
            var status: CInt = 0
            do { try finish(context.latch.wait()) } catch { status = (error as? ExitCode)?.rawValue ?? 1 }
            context.close()
            _exit(status)
        }
        try finish(ending)
    }

    private static let lostDisplay =
        "The display has gone: its X server has ended, or the connection to it was lost. "
        + "Watch again when it is back."

    /// Returns when the person, the time limit or the host has ended the program.
    ///
    /// - Parameter whenDisplayIsLost: called on a thread of its own instead, while the main thread is blocked for ever.
    private func runToEnd(
        _ viewer: Viewer, _ context: CommandContext, whenDisplayIsLost: @escaping @Sendable () -> Never
    ) -> Ending {
        guard !noWindow else {
            viewer.start()
            return context.latch.wait()
        }
        // The command runs on the main thread, as SDL requires for a window.
        return MainActor.assumeIsolated {
            do throws(DisplayError) {
                try ViewerWindow.prepare(for: viewer)
                // Connects while the window opens, because both take time.
                viewer.start()
                let window = try ViewerWindow(viewer, whenLost: whenDisplayIsLost)
                context.latch.whenEnded { viewer.endWindow() }
                window.run()
                context.latch.end(.done)
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            return context.latch.wait()
        }
    }

    /// `isWanted`: the program isn't to end yet.
    private func options(while isWanted: () -> Bool) throws -> ViewerOptions {
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
        let window = WindowOptions(
            title: "BeamRoom", isFullscreen: fullscreen, renderer: renderer, verticalSync: vsync, display: display,
            showsStatistics: stats)
        let trust = ViewerOptions.Trust(
            store: try TrustStore(), deviceName: MachineName.current, code: try code.read(while: isWanted),
            asksForCode: auto == nil && (!noWindow || TerminalQuestions.hasPerson), pairs: auto == nil,
            remembersNewHosts: !once, allowsUnencrypted: common.allowUnencrypted, isNewHost: newHost)
        var options = ViewerOptions(
            target: target, trust: trust, window: noWindow ? nil : window, decoder: videoDecoder,
            buffer: buffer.duration, recordPath: record, framesPath: frames)
        options.bounds = StreamBounds(largest: maxPicture)
        return options
    }
}

extension RendererChoice: ExpressibleByArgument {}
extension VerticalSync: ExpressibleByArgument {}
