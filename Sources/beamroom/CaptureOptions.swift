import ArgumentParser
import BeamCapture
import BeamCodec
import BeamHost
import BeamMedia

/// What is shared, and how it is encoded: of `share` and `room`.
struct CaptureOptions: ParsableArguments {
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

    func validate() throws {
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

    /// Nil: the fastest on this machine.
    var encoder: String? { videoEncoder == "auto" ? nil : videoEncoder }

    var pictureSource: HostOptions.Source {
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
