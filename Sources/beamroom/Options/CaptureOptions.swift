import ArgumentParser
import BeamCapture
import BeamCodec
import BeamHost
import BeamMedia
import BeamNetwork
import BeamTerminal
import BeamTrust

/// What is shared, and how it is encoded: of `share` and `room`.
struct CaptureOptions: ParsableArguments {
    @Option(help: "What to share: x11, pattern (a test pattern), or a video file, which is played in a loop.")
    var source = "x11"
    @Option(help: ArgumentHelp("The X display to share. (default: $DISPLAY)", valueName: "display"))
    var display: String?
    @Option(help: ArgumentHelp("One monitor, by its name or number.", valueName: "name|n"))
    var monitor: String?
    @Option(
        help: ArgumentHelp("One window, by its ID or a part of its title.", valueName: "id|title"),
        transform: WindowChoice.reading(OptionText.window))
    var window: WindowChoice?
    @Option(
        help: ArgumentHelp("A part of the screen.", valueName: "WxH+X+Y"),
        transform: PixelRect.reading(OptionText.region))
    var region: PixelRect?
    @Flag(help: "Choose with the pointer: click on a window, or drag a rectangle. Escape cancels.")
    var select = false
    @Flag(help: "List the monitors that --monitor can name, and do nothing else.")
    var listMonitors = false
    @Flag(help: "List the windows that --window can name, the topmost first, and do nothing else.")
    var listWindows = false
    @Flag(help: "Leave the pointer out.")
    var noCursor = false
    @Option(
        help: ArgumentHelp("The test pattern's size. (default: 1280x720)", valueName: "WxH"),
        transform: PixelSize.reading(OptionText.size))
    var size: PixelSize?
    @Option(help: "What the test pattern shows: chart (the default), still (a desktop), scroll (text) or video.")
    var content: PatternContent?

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Scale down so that the longer side has at most this many pixels.", valueName: "pixels"),
        transform: Int.reading(OptionText.maxSize))
    var maxSize: Int?
    @Option(
        help: ArgumentHelp("Maximum frames a second. (default: 60)", valueName: "fps"),
        transform: Double.reading(OptionText.frameRate))
    var maxFps: Double?
    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp("Bits a second, as in 8M or 800k. (default: depends on the size)", valueName: "rate"),
        transform: BitRate.reading(OptionText.bitRate))
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

    func validate() throws {
        guard [monitor != nil, window != nil, region != nil, select].count(where: { $0 }) <= 1 else {
            throw ValidationError("Use only one of --monitor, --window, --region and --select.")
        }
        try checkSourceOptions()
        if let maxFps, !(1...240).contains(maxFps) {
            throw ValidationError("--max-fps takes \(OptionText.frameRate).")
        }
        if let maxSize, !(16...8192).contains(maxSize) {
            throw ValidationError("--max-size takes \(OptionText.maxSize).")
        }
    }

    /// An option that has no effect on the chosen source is refused: the person who gave it expects an effect.
    private func checkSourceOptions() throws {
        let ofScreen = [
            "--display": display != nil, "--monitor": monitor != nil, "--window": window != nil,
            "--region": region != nil, "--select": select, "--list-monitors": listMonitors,
            "--list-windows": listWindows, "--no-cursor": noCursor,
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

    /// Nil: the fastest on this machine.
    var encoder: String? { videoEncoder == "auto" ? nil : videoEncoder }

    /// How a host shares what these options say. `isWanted`: as for `pictureSource`.
    func hostOptions(
        _ sound: SoundOptions, name: String, store: TrustStore, server: HostServer.Options, _ context: CommandContext,
        while isWanted: () -> Bool
    ) throws -> HostOptions {
        var options = HostOptions(
            source: try pictureSource(while: isWanted, say: { context.sayAtOnce($0) }), maxSize: maxSize,
            bitRate: videoBitRate?.bitsPerSecond, encoder: encoder, chroma: chroma, name: name, store: store,
            server: server)
        options.sound = sound.sound
        options.soundBitRate = sound.audioBitRate.bitsPerSecond
        return options
    }

    /// What is shared. With --select the person chooses now, in another thread's time if need be.
    ///
    /// - Parameters:
    ///   - isWanted: asked while the person chooses; no ends that.
    ///   - say: tells the person what to do.
    private func pictureSource(while isWanted: () -> Bool, say: (String) -> Void) throws -> HostOptions.Source {
        switch source {
        case "x11":
            let area: X11Options.Area
            if let monitor {
                area = .monitor(monitor)
            } else if let window {
                switch window {
                case .number(let number): area = .window(number)
                case .text(let text): area = .windowNamed(text)
                }
            } else if let region {
                area = .region(region)
            } else if select {
                say(
                    "Click on what to share: a window, or the desktop for the whole screen. Or drag a rectangle. Escape cancels."
                )
                area = try X11Source.select(display: display, while: isWanted)
            } else {
                area = .screen
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

/// `--list-monitors` and `--list-windows`.
extension CaptureOptions {
    /// The lists were asked for, and nothing else.
    var isList: Bool { listMonitors || listWindows }

    /// A line for each monitor and each window.
    func list() throws(CaptureError) -> [String] {
        var lines: [String] = []
        if listMonitors {
            let monitors = try X11Source.monitors(display: display)
            lines += monitors.map { ShownText.line($0.description) + ($0.isPrimary ? ", primary" : "") }
            if monitors.isEmpty {
                lines.append("This display lists no monitors. Without --monitor, all of it is shared.")
            }
        }
        if listWindows {
            let windows = try X11Source.windows(display: display)
            lines += windows.isEmpty ? ["There are no windows on this display."] : windows.map(\.description)
        }
        return lines
    }

    /// Writes the lists to standard output, and ends.
    func printList(_ context: CommandContext) throws {
        do {
            for line in try list() { print(line) }
        } catch {
            try context.conclude(.failed(error.description))
        }
    }
}

extension ChromaFormat: ExpressibleByArgument {}
