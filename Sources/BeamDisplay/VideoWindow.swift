import BeamClock
import BeamMedia
import CSDL2
import Glibc

/// The window in which a person watches one source of pictures or several: a grid of them, or one alone. Main thread only,
/// except `wake()`.
///
/// Until `setSources` is called it has one source without a name, which `show(_:)` gives its pictures.
///
/// Keys and mouse do what `WindowCommand` lists. While a code or a note is typed, letters are text. A keyboard layout
/// without Latin letters has the keys at their places of a US keyboard. Escape closes what is open, then leaves fullscreen,
/// and is reported (`.escaped`) if there is nothing of that kind.
@MainActor public final class VideoWindow {
    let window: WindowHandle
    let renderer: any Renderer
    let x11: X11Connection?
    let placement: WindowPlacement
    /// Of text and panels (see `DisplayScale`).
    var scale = 1.0
    let panels = PanelStack()
    /// What `setCaptions` was given last, which it is with each picture.
    var givenCaptions: [WindowCaption] = []
    /// Created when the first picture was drawn, or after `textDelay` without one; the first picture has priority.
    var fonts: FontLoader?
    var fontDeadline: MediaTime
    nonisolated let signal: WakeSignal
    var pointer = PointerHider()
    var codeKeys = CodeKeys()
    /// The X server has said that the key that SDL reports next types a question mark.
    var isQuestionMark = false
    /// Text that the present key types isn't wanted.
    var ignoresText = false
    var isControlDown = false
    /// See `WindowOptions.hintsKeys`.
    private let hintsKeys: Bool
    /// Nil: all of the picture is shown.
    var zoom: Zoom?
    /// Where the pointer was last while it drags a zoomed picture, in pixels.
    var dragged: (x: Int, y: Int)?
    /// Whether Escape leads back to the list of hosts: for the list of keys, and the menu.
    public var hasList = false
    /// What the menu can't know by itself.
    public var commandStates = WindowCommandStates()
    /// What a typed address is worth; nil: none is taken.
    var checkAddress: ((String) -> AddressVerdict)?
    /// The window stays above others.
    public internal(set) var isAlwaysOnTop = false
    /// Why it can't, as found when the menu was opened.
    var topObstacle: String?

    let grid = SourceGrid()
    /// See `WindowOptions.isRoom`.
    let isRoom: Bool
    /// See `WindowOptions.isReceiver`.
    let isReceiver: Bool
    /// Changes whenever `shownSizes` may have changed.
    public internal(set) var layoutVersion = 0
    /// To be reported.
    var hasFocusChanged = false
    /// The last click has shown a source alone.
    var hasClickedTile = false
    /// Something other than picture and layers has changed since the last drawing.
    var isStale = true
    /// When a drawing that couldn't be presented is tried again.
    private var redrawDeadline = MediaTime.distantFuture
    /// Layers have changed since the last drawing.
    var areLayersStale = false
    var drawnSize = PixelSize(width: 0, height: 0)
    var hadFonts = false
    /// Where input methods have been told that the cursor is.
    var textInputPlace: PixelRect?
    /// There is a picture without text over it.
    var isWatched = false
    /// The line of hints was shown with the first picture.
    var hasHinted = false

    /// Sets the environment variables that a window with these options needs, and finds out whether there is a display.
    /// Opening the window does that too, but by then other threads may be reading the environment.
    public static func prepareEnvironment(_ options: WindowOptions) throws(DisplayError) {
        try SDLVideo.prepareEnvironment(display: options.display, composes: options.allowsNotes)
    }

    /// Opens the window and shows it. One window at a time.
    ///
    /// - Parameters:
    ///   - whenConnected: called once, as soon as the display is connected and the libraries are loaded.
    ///   - whenLost: called on a thread of its own when the X server has gone, while the main thread stays wherever it was
    ///     in one of the display's libraries. It has to end the process with `_exit`: what libraries do at its end may
    ///     wait for the main thread. By default it does only that, with status 1.
    public init(
        _ options: WindowOptions, whenConnected: () -> Void = {},
        whenLost: @escaping @Sendable () -> Never = { _exit(1) }
    ) throws(DisplayError) {
        DisplayLoss.handle(with: whenLost)
        let video = try SDLVideo(display: options.display, composes: options.allowsNotes)
        whenConnected()
        let size = WindowPlacement.initialSize(video)
        do throws(DisplayError) {
            (window, renderer) = try RendererSelection.open(
                options.renderer, video: video, title: options.title, size: size, sync: options.verticalSync)
        } catch {
            // Without a compositor nothing else opens a window, either.
            if video.driver == "wayland", !WaylandSocket.answers { DisplayLoss.notice() }
            throw error
        }
        x11 = X11Connection(window)
        if let x11 {
            x11.selectEvents()
            DisplayLoss.watch(x11.fileDescriptor)
        }
        placement = WindowPlacement(window, x11)
        let signal = WakeSignal(usesDescriptor: x11 != nil)
        self.signal = signal
        fontDeadline = .now + Self.textDelay
        title = options.title
        isRoom = options.isRoom
        isReceiver = options.isReceiver
        hintsKeys = options.hintsKeys
        grid.set([.onlyOne])
        if !isRoom, let transcript = grid.transcript(of: WindowSource.onlyOne.id) { panels.transcript = transcript }
        panels.isRoom = options.isRoom
        panels.showsStatistics = options.showsStatistics
        panels.showsCaptions = options.showsCaptions
        panels.allowsNotes = options.allowsNotes
        scale = window.scale(x11)
        placement.setInitialSize(scale: scale, sources: options.sources)
        if options.isFullscreen { setFullscreen(true) }
        if options.isAlwaysOnTop, alwaysOnTopObstacle == nil { setAlwaysOnTop(true) }
        if isReceiver { SDL_DisableScreenSaver() }
        show()
        redrawIfNeeded()
    }

    private func show() {
        guard let compositor = WaylandSurface.connection(of: window) else { return SDL_ShowWindow(window.raw) }
        DisplayLoss.notice(compositor) { SDL_ShowWindow(window.raw) }
    }

    isolated deinit { fonts?.wait() }

    /// How long to wait for a first picture before text is shown, so that no text flashes up on a fast connection.
    static let textDelay = Duration.milliseconds(100)

    /// `software`, or OpenGL with the GPU's name.
    public var rendererName: String { renderer.name }

    public var title: String {
        didSet { if title != oldValue { SDL_SetWindowTitle(window.raw, title) } }
    }

    /// Whether the lines given to `setOverlay` are shown. A person toggles this with `i`.
    public var showsStatistics: Bool {
        get { panels.showsStatistics }
        set {
            panels.showsStatistics = newValue
            areLayersStale = true
        }
    }

    /// Whether captions and notes are shown over the picture. A person toggles this with `c`.
    public var showsCaptions: Bool {
        get { panels.showsCaptions }
        set {
            panels.showsCaptions = newValue
            areLayersStale = true
        }
    }

    /// What `n` says while notes can't be sent.
    public var noNotesReason = "Notes can't be sent here"

    /// Whether notes can be sent now. If not, `n` says so, and the line of a note that is being written keeps its text.
    public var allowsNotes: Bool {
        get { panels.allowsNotes }
        set {
            guard newValue != panels.allowsNotes else { return }
            panels.allowsNotes = newValue
            areLayersStale = true
        }
    }

    /// Whether the transcript is shown. A person toggles this with `t`.
    public var showsTranscript: Bool {
        get { panels.showsTranscript }
        set {
            panels.showsTranscript = newValue
            areLayersStale = true
            guard grid.isShown else { return }
            // The grid makes room.
            isStale = true
            layoutChanged()
        }
    }

    public var isFullscreen: Bool { placement.isFullscreen }

    // MARK: - Drawing

    /// Redraws now if anything except the picture has changed. `waitForEvents` does so too.
    public func redrawIfNeeded() {
        refreshMenu()
        if redrawDeadline <= .now { isStale = true }
        if isStale { draw(.everything) } else if areLayersStale { draw(.pictures([])) }
    }

    /// The window's content as bgrx in the window's size; nil if there is none. Slow: for tests and screenshots.
    public func readBack() -> PixelBuffer? {
        loadFonts()
        fonts?.wait()
        updateFonts()
        redrawIfNeeded()
        return renderer.readBack(makeScene())
    }

    func draw(_ change: SceneChange) {
        // This change is included in the next drawing.
        guard canDraw else { return isStale = true }
        let scene = makeScene()
        let change = scene.canvas == drawnSize && redrawDeadline == .distantFuture ? change : .everything
        if case .pictures(let changes) = change, changes.allSatisfy(\.damage.isEmpty), !areLayersStale { return }
        let isPresented = renderer.draw(scene, change: change)
        redrawDeadline = isPresented ? .distantFuture : .now + Self.redrawPause
        drawnSize = scene.canvas
        isStale = false
        areLayersStale = false
        placeTextInput()
        if hasPicture { loadFonts() }
    }

    private static let redrawPause = Duration.milliseconds(100)

    /// Whether a picture is shown.
    var hasPicture: Bool { grid.isShown ? grid.hasPicture : picture != nil }

    /// The picture of the source that is shown alone, if it has one.
    var picture: Picture? { grid.isShown ? nil : grid.selection.focus.flatMap { grid.picture(of: $0) } }

    /// Whether somebody can see the window. If not, drawing would be for nothing.
    var canDraw: Bool {
        !window.has(SDL_WINDOW_MINIMIZED) && x11?.isOutOfSight != true && window.pixelSize.area > 0
    }

    private func makeScene() -> Scene {
        let canvas = window.pixelSize
        let dimming = panels.hasWords ? Theme.dimming : 0
        // The tiles of a grid have names of their own.
        panels.pictureName = grid.isShown ? nil : grid.focused?.name
        if grid.isShown {
            let setting = PanelStack.Setting(
                canvas: canvas, textScale: scale, isOverPicture: true, captionArea: isRoom ? nil : focusRect)
            let pictures = grid.pictures(gridSetting, dimming: dimming)
            return Scene(
                canvas: canvas, background: .plain, pictures: pictures,
                layers: grid.pointers(over: pictures)
                    + (hadFonts ? grid.layers(gridSetting) + panels.layers(setting) : []))
        }
        let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: hasPicture)
        let shown = picture.map { picture in
            ScenePicture(
                source: grid.selection.focus ?? 0, picture: picture, viewport: viewport(of: picture.size, in: canvas),
                dimming: dimming, isGrey: panels.held != nil)
        }
        return Scene(
            canvas: canvas, background: shown == nil ? .plain : .black, pictures: shown.map { [$0] } ?? [],
            layers: grid.pointers(over: shown.map { [$0] } ?? []) + (hadFonts ? panels.layers(setting) : []))
    }

    func loadFonts() {
        guard fonts == nil else { return }
        fontDeadline = .distantFuture
        let signal = self.signal
        fonts = FontLoader { signal.raise() }
    }

    func updateFonts() {
        guard !hadFonts, fonts?.isReady == true else { return }
        hadFonts = true
        isStale = true
        setIcon()
        // Where people meet, there is something to do before there is a picture.
        if isRoom, hintsKeys { hintKeys() }
    }

    /// Must be called after the first picture, and when text appears or disappears.
    func updateWatched() {
        guard isWatched != (hasPicture && !panels.hasWords) else { return }
        isWatched.toggle()
        if isWatched, hintsKeys, !hasHinted {
            hasHinted = true
            hintKeys()
        }
        // The person may have forgotten the warning during the interruption, or be another person.
        if isWatched { changeBadge { $0.showInFull(now: .now) } }
        // The screen saver is off only while a picture is watched without text over it.
        if isWatched || isReceiver { SDL_DisableScreenSaver() } else { SDL_EnableScreenSaver() }
    }

    private func setIcon() {
        let icon = Emblem.icon(side: 64)
        let surface = SDL_CreateRGBSurfaceWithFormatFrom(
            icon.base, 64, 64, 32, Int32(icon.stride), SDL_PIXELFORMAT_ARGB8888.rawValue)
        SDL_SetWindowIcon(window.raw, surface)
        SDL_FreeSurface(surface)
    }

    // MARK: - Events

    /// Makes `waitForEvents` return with `.wake`. Any thread may call it; several calls may be reported once.
    public nonisolated func wake() { signal.raise() }

    /// Redraws what has changed, then waits for events, at most for `timeout` (nil: indefinitely).
    ///
    /// `.wake` may be reported without a call to `wake()`.
    public func waitForEvents(timeout: Duration?) -> [WindowEvent] {
        let end = timeout.map { MediaTime.now + $0 } ?? .distantFuture
        while true {
            redrawIfNeeded()
            if fontDeadline <= .now { loadFonts() }
            pointer.hideIfDue()
            changeBadge { $0.shortenIfDue(now: .now) }
            hideNoticeIfDue()
            var events = takeEvents()
            if hasFocusChanged {
                hasFocusChanged = false
                events.append(.focusChanged)
            }
            if signal.take() {
                updateFonts()
                events.append(.wake)
            }
            if !events.isEmpty || end <= .now {
                redrawIfNeeded()
                return events
            }
            if isStale || areLayersStale, canDraw { continue }
            let deadlines = [pointer.deadline, panels.badge?.deadline, panels.notice?.deadline, panels.hint?.deadline]
                .compactMap(\.self)
            sleep(until: deadlines.reduce(min(end, fontDeadline, redrawDeadline), min))
        }
    }

    private func sleep(until end: MediaTime) {
        // Rounded up, so that it doesn't wake before `end`.
        let milliseconds =
            end == .distantFuture ? -1 : Int32(clamping: (max(.zero, end - .now).inNanoseconds + 999_999) / 1_000_000)
        guard let x11 else {
            SDL_WaitEventTimeout(nil, milliseconds)
            return
        }
        var descriptors = [
            pollfd(fd: signal.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: x11.fileDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    }

    private func takeEvents() -> [WindowEvent] {
        var events: [WindowEvent] = []
        var event = SDL_Event()
        while SDL_PollEvent(&event) != 0 { handle(event, &events) }
        return events
    }
}
