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
    @Option(
        help:
            "What to share: auto (the desktop), portal (what a Wayland desktop's dialog offers), x11 (an X11 screen or window), wlr (a monitor of sway, labwc or another wlroots desktop, which asks nobody), pattern (a test pattern), or a video file, which is played in a loop."
    )
    var source = "auto"
    @Option(
        help: ArgumentHelp(
            "What a Wayland desktop's dialog offers: any (one monitor or window, the default), monitor, window, or several (side by side).",
            valueName: "any|monitor|window|several"))
    var choose: PortalOptions.Choice?
    @Flag(
        help:
            "Forget what was chosen in a Wayland desktop's dialog before, and let it ask each time that sharing begins."
    )
    var askAgain = false
    @Option(
        help: ArgumentHelp(
            "The X display to share, also in a Wayland session, or with --source wlr the Wayland display. (default: $DISPLAY, $WAYLAND_DISPLAY)",
            valueName: "display"))
    var display: String?
    @Option(help: ArgumentHelp("One monitor, by its name or number.", valueName: "name|n"))
    var monitor: String?
    @Option(
        help: ArgumentHelp("One window, by its ID or a part of its title.", valueName: "id|title"),
        transform: WindowChoice.reading(OptionText.window))
    var window: WindowChoice?
    @Option(
        help: ArgumentHelp("A part of the screen, or with --source wlr of the monitor.", valueName: "WxH+X+Y"),
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
    @Flag(help: "Show no frame around the shared window or region (X11; a Wayland desktop has its own sign).")
    var noFrame = false
    @Flag(help: "Let the desktop show other programs' notices while somebody watches or it is recorded.")
    var noQuiet = false
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
    @Flag(help: "Send video only: no exact pixels beside it, and the mouse pointer in the pictures.")
    var noExact = false

    func validate() throws {
        // A part of the monitor can be named there.
        let isRegionOfMonitor = source == "wlr" && region != nil && monitor != nil
        guard isRegionOfMonitor || [monitor != nil, window != nil, region != nil, select].count(where: { $0 }) <= 1
        else {
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
        let kind = sourceKind
        let given = optionsBySource.flatMap { options in
            options.kinds.contains(kind) ? [] : options.given.filter(\.value).keys.map { ($0, options.hint) }
        }.sorted { $0.0 < $1.0 }
        guard let first = given.first else { return }
        let shared =
            switch kind {
            case .x11: "the X11 screen"
            case .portal: "the Wayland desktop"
            case .wlr: "a monitor"
            case .pattern: "the test pattern"
            case .file: "a video file"
            }
        throw ValidationError(
            "\(given.map(\.0).joined(separator: " and ")) \(given.count == 1 ? "doesn't" : "don't") apply to \(shared), which "
                + "--source \(source) shares\(source == "auto" ? " here" : ""). " + first.1)
    }

    /// Which options have an effect on which sources, and what to do about one that has none.
    private var optionsBySource: [(kinds: Set<SourceKind>, given: [String: Bool], hint: String)] {
        let desktop = "Leave --source out to share the screen."
        return [
            (
                [.x11, .wlr],
                [
                    "--display": display != nil, "--monitor": monitor != nil, "--list-monitors": listMonitors,
                ],
                sourceKind == .portal
                    ? "The desktop's own dialog chooses the monitor or the window; --choose says what it offers. Leave --source out "
                        + "to share a window of an X program." : desktop
            ),
            (
                [.x11], ["--window": window != nil, "--select": select, "--list-windows": listWindows],
                sourceKind == .wlr ? "Share a part of it with --region." : desktop
            ),
            (
                [.x11, .portal, .wlr],
                [
                    "--region": region != nil, "--no-cursor": noCursor, "--no-frame": noFrame,
                    "--no-quiet": noQuiet,
                ], desktop
            ),
            (
                [.portal], ["--choose": choose != nil, "--ask-again": askAgain],
                "Only a Wayland desktop has a dialog that chooses: --source portal asks it."
            ),
            (
                [.pattern], ["--size": size != nil, "--content": content != nil],
                "Share the test pattern with --source pattern."
            ),
            ([.x11, .portal, .wlr, .pattern], ["--max-fps": maxFps != nil], "A file is played at its own rate."),
        ]
    }

    /// Options that name something of X11, so that --source auto means that.
    static let namesOfX11: Set<String> = ["display", "monitor", "window", "select", "list-monitors", "list-windows"]
    /// Options that are about the dialog of a Wayland desktop.
    static let namesOfDialog: Set<String> = ["choose", "ask-again"]

    private enum SourceKind { case x11, portal, wlr, pattern, file }

    /// What --source means here. Windows and monitors that options name are those of X11, also in a Wayland session: its
    /// portal names none.
    private var sourceKind: SourceKind {
        switch source {
        case "auto":
            let namesX11 =
                display != nil || monitor != nil || window != nil || select || listMonitors || listWindows
            return !namesX11 && PortalSource.isInWaylandSession ? .portal : .x11
        case "x11": return .x11
        case "portal": return .portal
        case "wlr": return .wlr
        case "pattern": return .pattern
        default: return .file
        }
    }

    /// The desktop, and not a test pattern or a file.
    var sharesScreen: Bool { [.x11, .portal, .wlr].contains(sourceKind) }

    /// Nil: the fastest on this machine.
    var encoder: String? { videoEncoder == "auto" ? nil : videoEncoder }

    /// How a host shares what these options say. `isWanted`: as for `pictureSource`.
    func hostOptions(
        _ sound: SoundOptions, name: String, store: TrustStore, server: HostServer.Options, _ context: CommandContext,
        while isWanted: @escaping () -> Bool
    ) throws -> HostOptions {
        var options = HostOptions(
            source: try pictureSource(store, while: isWanted, say: { context.sayAtOnce($0) }), maxSize: maxSize,
            bitRate: videoBitRate?.bitsPerSecond, encoder: encoder, chroma: chroma, name: name, store: store,
            server: server)
        options.sendsPatches = !noExact
        options.sound = sound.sound
        options.soundBitRate = sound.audioBitRate.bitsPerSecond
        return options
    }

    /// What is shared. With --select, and on a Wayland desktop, this waits until the person has chosen.
    ///
    /// - Parameters:
    ///   - store: keeps the consent of a Wayland desktop's person.
    ///   - isWanted: asked while the person chooses; no ends that.
    ///   - say: tells the person what to do.
    private func pictureSource(
        _ store: TrustStore, while isWanted: @escaping () -> Bool, say: @escaping (String) -> Void
    ) throws -> HostOptions.Source {
        switch sourceKind {
        case .portal:
            return .portal(try PortalSource(portalOptions(store), while: isWanted, say: say))
        case .x11:
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
                X11Options(
                    display: display, area: area, drawsCursor: !noCursor, maxFrameRate: maxFps ?? 60,
                    showsFrame: !noFrame))
        case .wlr:
            return .wlr(
                WlrOptions(
                    display: display, monitor: monitor, region: region, drawsCursor: !noCursor,
                    maxFrameRate: maxFps ?? 60))
        case .pattern:
            return .pattern(
                PatternOptions(
                    size: size ?? PixelSize(width: 1280, height: 720), frameRate: maxFps ?? 60,
                    content: content ?? .chart))
        case .file:
            return .file(path: source)
        }
    }

    private func portalOptions(_ store: TrustStore) -> PortalOptions {
        PortalOptions(
            choice: choose ?? .any, drawsCursor: !noCursor, maxFrameRate: maxFps ?? 60, region: region,
            asksAgain: askAgain,
            tokens: PortalTokens(
                take: { try? store.takeConsent($0) },
                keep: { name, token in
                    do throws(TrustStoreError) {
                        try store.keepConsent(token, as: name)
                        return nil
                    } catch {
                        return error.description
                    }
                }))
    }
}

/// `--list-monitors` and `--list-windows`.
extension CaptureOptions {
    /// The lists were asked for, and nothing else.
    var isList: Bool { listMonitors || listWindows }

    /// A line for each monitor and each window.
    func list() throws(CaptureError) -> [String] {
        var lines: [String] = []
        if listMonitors, source == "wlr" {
            let monitors = try WlrSource.monitors(display: display)
            lines += monitors.isEmpty ? ["No monitor is on."] : monitors.map { ShownText.line($0) }
        } else if listMonitors {
            let monitors = try X11Source.monitors(display: display)
            lines += monitors.map { ShownText.line($0.description) + ($0.isPrimary ? ", primary" : "") }
            if monitors.isEmpty {
                lines.append("This display lists no monitors. Without --monitor, all of it is shared.")
            }
            if source == "auto", PortalSource.isInWaylandSession {
                lines.append(
                    "They have no picture on this Wayland desktop. Leave --monitor out, and the desktop asks what to share."
                )
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
extension PortalOptions.Choice: ExpressibleByArgument {}
