import ArgumentParser
import BeamCapture
import BeamCodec
import BeamHost
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTrust
import Glibc

/// `beamroom share`.
struct Share: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shares this machine's screen.")

    @Option(help: "What to share: x11, pattern (a test pattern), or a video file, which is played in a loop.")
    var source = "x11"
    @Option(help: ArgumentHelp("The X display to share. (default: $DISPLAY)", valueName: "display"))
    var display: String?
    @Option(help: ArgumentHelp("One monitor, by its name or number.", valueName: "name|n"))
    var monitor: String?
    @Option(
        help: ArgumentHelp("One window, by the ID that xwininfo prints.", valueName: "id"),
        transform: WindowID.reading(OptionWords.window))
    var window: WindowID?
    @Option(
        help: ArgumentHelp("A part of the screen.", valueName: "WxH+X+Y"),
        transform: PixelRect.reading(OptionWords.region))
    var region: PixelRect?
    @Flag(help: "Leave the pointer out.")
    var noCursor = false
    @Option(
        help: ArgumentHelp("The test pattern's size. (default: 1280x720)", valueName: "WxH"),
        transform: PixelSize.reading(OptionWords.size))
    var size: PixelSize?
    @Option(help: "What the test pattern shows: chart (the default), still (a desktop), scroll (text) or video.")
    var content: PatternContent?

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Scale down so that the longer side has at most this many pixels.", valueName: "pixels"),
        transform: Int.reading(OptionWords.maxSize))
    var maxSize: Int?
    @Option(
        help: ArgumentHelp("Maximum frames a second. (default: 60)", valueName: "fps"),
        transform: Double.reading(OptionWords.frameRate))
    var maxFps: Double?
    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp("Bits a second, as in 8M or 800k. (default: depends on the size)", valueName: "rate"),
        transform: BitRate.reading(OptionWords.bitRate))
    var videoBitRate: BitRate?
    @Option(
        help: ArgumentHelp("The encoder: libx264, another H.264 encoder of libavcodec, or auto.", valueName: "name")
    )
    var videoEncoder = "auto"
    @Option(
        help: ArgumentHelp(
            "Colour resolution: 420, or 444 for coloured text as sharp as black on white. Viewers that can't decode 444 get 420.",
            valueName: "420|444"))
    var chroma = ChromaFormat.subsampled

    @Option(help: ArgumentHelp("The name in the viewers' lists. (default: this machine's name)", valueName: "name"))
    var name: String?
    @Option(help: ArgumentHelp("Listen on this address only. (default: all)", valueName: "address"))
    var bind: String?
    @Option(
        help: "The TCP port that viewers connect to. (default: 52345)", transform: UInt16.reading(OptionWords.port))
    var port: UInt16 = 52345
    @Option(
        help: "The UDP port of the pictures. If it is in use, another one is taken. (default: 52346)",
        transform: UInt16.reading(OptionWords.port))
    var mediaPort: UInt16 = 52346
    @Flag(help: "Don't announce the host on the network.")
    var noDiscovery = false
    @Flag(help: "Don't announce the host over Bluetooth, where there is an adapter.")
    var noBluetooth = false
    @Option(
        help: "Viewers without a code: ask about each, let in all, or none. (default: ask, or none without a terminal)")
    var accept: HostSession.Acceptance?

    @Option(help: ArgumentHelp("Maximum number of viewers at a time.", valueName: "number"))
    var maxViewers = HostSession.Configuration.defaultViewers

    @OptionGroup var code: CodeOptions
    @Flag(help: "Let in only viewers that were paired before.")
    var trustedOnly = false
    @Flag(
        help:
            "Pair for this time only: neither side remembers the other, and a viewer that is started again has to be let in again."
    )
    var once = false

    @Option(
        help: ArgumentHelp(
            "Record the stream as it is sent (.mkv or .mp4), with or without viewers.", valueName: "file"))
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Read captions from a file, a named pipe or - (standard input; not with --json): a line each, or JSON lines with partial, final and speaker.",
            valueName: "file"))
    var captions: String?
    @Option(
        help: ArgumentHelp(
            "Write captions, notes and alerts into a file (.txt, .srt, .vtt or .jsonl).", valueName: "file"))
    var transcript: String?
    @Option(help: ArgumentHelp("Whether viewers may write notes.", valueName: "on|off"))
    var notes = Switch.on

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if trustedOnly, accept != nil || code.code != nil || code.codeFile != nil || once || common.allowUnencrypted {
            throw ValidationError(
                "--trusted-only lets in nobody new: leave --accept, --code, --code-file, --once and --allow-unencrypted out."
            )
        }
        guard [monitor != nil, window != nil, region != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("Use only one of --monitor, --window and --region.")
        }
        try checkSourceOptions()
        if let maxFps, !(1...240).contains(maxFps) {
            throw ValidationError("--max-fps takes \(OptionWords.frameRate).")
        }
        if let maxSize, !(16...8192).contains(maxSize) {
            throw ValidationError("--max-size takes \(OptionWords.maxSize).")
        }
        guard (1...HostSession.Configuration.mostViewersPossible).contains(maxViewers) else {
            throw ValidationError(
                "--max-viewers takes a number from 1 to \(HostSession.Configuration.mostViewersPossible).")
        }
        if captions == "-", common.json {
            throw ValidationError(
                "--captions - and --json both read standard input: read the captions from a file or a named pipe (--captions FILE)."
            )
        }
        if captions == "-", accept == .ask, !Keyboard.isBesideInput {
            throw ValidationError(
                "With --captions - and no terminal nobody can be asked: leave --accept ask out, or read the captions from a file or a named pipe (--captions FILE)."
            )
        }
        if let name, ShownText.line(name).isEmpty || name.utf8.count > 200 {
            throw ValidationError("--name takes 1 to 200 bytes of visible characters.")
        }
    }

    /// An option that has no effect on the chosen source is refused: whoever gave it expects something of it.
    private func checkSourceOptions() throws {
        let ofScreen = [
            "--display": display != nil, "--monitor": monitor != nil, "--window": window != nil,
            "--region": region != nil, "--no-cursor": noCursor,
        ]
        let ofPattern = ["--size": size != nil, "--content": content != nil]
        let (shared, wrong) =
            switch source {
            case "x11": ("the screen", ofPattern)
            case "pattern": ("the test pattern", ofScreen)
            default:
                ("a video file", ofScreen.merging(ofPattern) { $1 }.merging(["--max-fps": maxFps != nil]) { $1 })
            }
        let given = wrong.filter(\.value).keys.sorted()
        guard let first = given.first else { return }
        throw ValidationError(
            "\(given.joined(separator: " and ")) \(given.count == 1 ? "doesn't" : "don't") apply to \(shared), which "
                + "--source \(source) shares. "
                + (ofPattern[first] == nil
                    ? first == "--max-fps"
                        ? "A file is played at its own rate." : "Leave --source out to share the screen."
                    : "Share the test pattern with --source pattern."))
    }

    func run() throws {
        let context = CommandContext(json: common.json)
        defer { context.close() }
        let endings = EndingSources(context.latch, timeLimit: common.timeLimit)
        defer { withExtendedLifetime(endings) {} }
        let prompt = PairingPrompt(context.console, programs: context.programs, keyboard: keyboard)
        let reporter = ShareReporter(context, prompt: prompt, invitation: invitation(context.console))
        let host: Host
        do {
            host = try Host(options(context.console)) { reporter.handle($0) }
        } catch {
            return try context.conclude(.failed("\(error)"))
        }
        context.programs?.connect(
            ProgramInput.Handlers(write: { host.write($0) }, pause: { host.setPaused($0) }))
        prompt.setCommands(
            TerminalQuestions.Commands(
                note: { host.write(.note($0)) }, pause: { host.setPaused(!host.isPaused) }))
        prompt.start { [host] connection, accept in host.decide(connection, accept: accept) }
        reporter.ready(host)
        let ticker = EverySecond {
            reporter.tick(host)
            host.updateAddresses()
        }
        let ending = context.latch.wait()
        ticker.cancel()
        host.stop(because: reporter.farewell)
        reporter.summarise(host)
        try context.conclude(reporter.verdict(ending))
    }

    /// Captions from standard input leave the terminal to the person, if there is one.
    private var keyboard: Keyboard { captions == "-" ? .besideInput : .standardInput }

    private var acceptance: HostSession.Acceptance {
        if let accept { return accept }
        let canAsk = captions == "-" ? keyboard != .none : TerminalQuestions.hasKeyboard
        return canAsk && !trustedOnly ? .ask : .none
    }

    /// A code is shown on a terminal only: it must not get into a log. Nobody needs one if all are let in.
    private func showsCode(_ console: Console) -> Bool { console.isTerminal && !trustedOnly && acceptance != .all }

    private func invitation(_ console: Console) -> ShareReporter.Invitation {
        ShareReporter.Invitation(
            acceptance: acceptance, isTrustedOnly: trustedOnly, showsCode: showsCode(console),
            hasCode: code.code != nil || code.codeFile != nil, codeFile: code.codeFile,
            allowsUnencrypted: common.allowUnencrypted)
    }

    private func options(_ console: Console) throws -> HostOptions {
        // As viewers read it: both ends must have the same name when they pair.
        let name = ShownText.line(self.name ?? MachineName.current)
        let store = try TrustStore()
        let identity = try store.identity()
        let hostCode: HostCode =
            if let given = try code.read() {
                HostCode(given: given, isRenewed: code.codeFile == nil && showsCode(console))
            } else if showsCode(console) {
                HostCode.random()
            } else {
                HostCode.none
            }
        let remembered = try store.devices().filter { $0.roles.contains(.viewer) }
        var options = HostOptions(
            source: pictureSource, maxSize: maxSize, bitRate: videoBitRate?.bitsPerSecond,
            encoder: videoEncoder == "auto" ? nil : videoEncoder, chroma: chroma, name: name, store: store,
            server: HostServer.Options(
                bindAddress: bind, controlPort: port, mediaPort: mediaPort, identity: identity,
                session: HostSession.Configuration(
                    acceptance: acceptance, deviceName: name,
                    trust: HostTrust(
                        own: identity.deviceKey,
                        remembered: Dictionary(remembered.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }),
                        code: hostCode, takesNewViewers: !trustedOnly, remembersNewViewers: !once),
                    allowsUnencrypted: common.allowUnencrypted, mostViewers: maxViewers,
                    room: RoomOptions(signing: identity.roomSigning, name: name, takesNotes: notes.isOn))),
            recordPath: record, captionsPath: captions, transcriptPath: transcript, isAnnounced: !noDiscovery)
        options.usesBluetooth = !noBluetooth
        return options
    }

    private var pictureSource: HostOptions.Source {
        switch source {
        case "x11":
            let area: X11Options.Area =
                if let monitor {
                    .monitor(monitor)
                } else if let window {
                    .window(window.number)
                } else if let region {
                    .region(region)
                } else {
                    .screen
                }
            return .x11(
                X11Options(display: display, area: area, drawsCursor: !noCursor, maxFrameRate: maxFps ?? 60))
        case "pattern":
            return .pattern(
                PatternOptions(
                    size: size ?? PixelSize(width: 1280, height: 720), frameRate: maxFps ?? 60,
                    content: content ?? .chart))
        default:
            return .file(path: source)
        }
    }
}

extension ChromaFormat: ExpressibleByArgument {}

/// This machine's host name; `BeamRoom` if it has none.
enum MachineName {
    static var current: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "BeamRoom" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name.isEmpty ? "BeamRoom" : name
    }
}
