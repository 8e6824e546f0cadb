import ArgumentParser
import BeamCodec
import BeamDisplay
import BeamMedia
import BeamPlayout
import BeamViewer

/// How what is watched is decoded and shown: of `watch` and `room`.
struct PlaybackOptions: ParsableArguments {
    @Flag(name: [.short, .long], help: "Fill the screen.")
    var fullscreen = false
    @Flag(help: "Keep the window above others, where the desktop allows it (X11).")
    var alwaysOnTop = false
    @Flag(help: "Open no window, for recording or measuring.")
    var noWindow = false
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
            "The largest pictures to take, which limits the memory that a host's stream can use (default: as many pixels as 4096x4096 has, 8192 in a line).",
            valueName: "WxH"), transform: PixelSize.reading(OptionText.size))
    var maxPicture: PixelSize?
    @Option(
        help: ArgumentHelp(
            "Delay that evens out jitter: auto (0 on a quiet network), or 0 to 2000 ms.",
            valueName: "ms"), transform: PlayoutDelay.reading(OptionText.playoutDelay))
    var buffer = PlayoutDelay.automatic
    @Flag(help: "Play no sound.")
    var noAudio = false
    @Option(
        help: ArgumentHelp(
            "The device that plays the sound, or default for the system's. Plays it without a window, too.",
            valueName: "name"))
    var audioOutput: String?
    @Option(
        help: ArgumentHelp(
            "Picture and sound in step: picture (the picture waits for the sound at most 10 ms), sound (it waits as long as needed), off.",
            valueName: "picture|sound|off"))
    var avSync = SoundSync.Mode.picture
    @Flag(help: "Show statistics in the window.")
    var stats = false

    func validate() throws {
        if noWindow, fullscreen || stats || alwaysOnTop {
            throw ValidationError("--fullscreen, --always-on-top and --stats need a window: leave --no-window out.")
        }
        if noAudio, audioOutput != nil {
            throw ValidationError("--audio-output plays sound: leave --no-audio out.")
        }
    }

    /// Names the system's device in `--audio-output`.
    private static let systemOutput = "default"

    /// What is played; files are the command's own.
    var sound: ViewerOptions.Sound {
        ViewerOptions.Sound(
            plays: !noAudio && (!noWindow || audioOutput != nil),
            output: audioOutput == Self.systemOutput ? nil : audioOutput, insists: audioOutput != nil, sync: avSync)
    }

    var bounds: StreamBounds { maxPicture.map { StreamBounds(largest: $0) } ?? StreamBounds() }

    /// Nil: no window.
    func window(on display: String?, showsCaptions: Bool) -> WindowOptions? {
        guard !noWindow else { return nil }
        var window = WindowOptions(
            title: "BeamRoom", isFullscreen: fullscreen, renderer: renderer, verticalSync: vsync, display: display,
            showsStatistics: stats, showsCaptions: showsCaptions, allowsNotes: true)
        window.hintsKeys = true
        window.isAlwaysOnTop = alwaysOnTop
        return window
    }
}

extension RendererChoice: ExpressibleByArgument {}
extension VerticalSync: ExpressibleByArgument {}
