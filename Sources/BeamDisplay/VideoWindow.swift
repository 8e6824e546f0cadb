import BeamClock
import BeamMedia
import CSDL2
import Glibc

/// The window in which a person watches a host. Main thread only, except `wake()`.
///
/// Keys: `f`, F11 and a double click toggle fullscreen; Escape leaves it; `i` toggles the statistics; `q` quits.
@MainActor public final class VideoWindow {
    private let window: WindowHandle
    private let renderer: any Renderer
    private let x11: X11Connection?
    private let placement: WindowPlacement
    /// Of text and panels (see `DisplayScale`).
    private var scale = 1.0
    private let panels = PanelStack()
    /// Created when the first picture was drawn, or after `textDelay` without one; the first picture has priority.
    private var fonts: FontLoader?
    private var fontDeadline: MediaTime
    private nonisolated let signal: WakeSignal
    private var pointer = PointerHider()
    private var codeKeys = CodeKeys()

    private var picture: Picture?
    /// Something other than the picture has changed since the last drawing.
    private var isStale = true
    private var drawnSize = PixelSize(width: 0, height: 0)
    private var hadFonts = false
    /// There is a picture without text over it.
    private var isWatched = false

    /// Sets the environment variables that a window with these options needs, and finds out whether there is a display.
    /// Opening the window does that too, but by then other threads may be reading the environment.
    public static func prepareEnvironment(_ options: WindowOptions) throws(DisplayError) {
        try SDLVideo.prepareEnvironment(display: options.display)
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
        let video = try SDLVideo(display: options.display)
        whenConnected()
        let size = WindowPlacement.initialSize(video)
        (window, renderer) = try RendererSelection.open(
            options.renderer, video: video, title: options.title, size: size, sync: options.verticalSync)
        x11 = X11Connection(window)
        x11?.selectEvents()
        placement = WindowPlacement(window, x11)
        let signal = WakeSignal(usesDescriptor: x11 != nil)
        self.signal = signal
        fontDeadline = .now + Self.textDelay
        title = options.title
        panels.showsStatistics = options.showsStatistics
        scale = window.scale(x11)
        placement.setInitialSize(scale: scale)
        if options.isFullscreen { setFullscreen(true) }
        SDL_ShowWindow(window.raw)
        redrawIfNeeded()
    }

    isolated deinit { fonts?.wait() }

    /// How long to wait for a first picture before text is shown, so that no text flashes up on a fast connection.
    private static let textDelay = Duration.milliseconds(100)

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
            isStale = true
        }
    }

    public var isFullscreen: Bool { placement.isFullscreen }

    // MARK: - Content

    /// Shows `picture` at once, without waiting for the vertical blank if that doesn't tear, and keeps it until the
    /// next one. The first picture sets the window's size. Outside its damage, the picture must equal the one before.
    ///
    /// At most 8192 × 8192. The planes are read before this returns, and again when the window is redrawn.
    ///
    /// - Returns: whether it was drawn. While nobody can see the window it is drawn later, as soon as somebody can.
    @discardableResult public func show(_ picture: Picture) -> Bool {
        let old = self.picture
        self.picture = picture
        if old?.size != picture.size { placement.fit(to: picture.size, scale: scale) }
        let isContinued = old?.size == picture.size && old?.format == picture.format && old?.colour == picture.colour
        draw(isContinued && !isStale ? .picture(picture.damage) : .everything)
        if old == nil { updateWatched() }
        return canDraw
    }

    /// Shows a message over the dimmed last picture, or on a plain background if there is none. Nil removes it.
    public func setMessage(_ message: WindowMessage?) {
        guard message != panels.message else { return }
        panels.message = message
        isStale = true
        updateWatched()
    }

    /// Shows a list to choose from, instead of a message. An empty list shows that hosts are being searched. Nil
    /// removes the list.
    public func setPicker(_ entries: [PickerEntry]?) {
        if let entries {
            var picker = panels.picker ?? Picker()
            picker.update(entries)
            guard picker != panels.picker else { return }
            panels.picker = picker
        } else {
            guard panels.picker != nil else { return }
            panels.picker = nil
        }
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
        updateWatched()
    }

    /// Asks for six digits, instead of a message or list; `.codeEntered` reports them. Nil removes the prompt.
    ///
    /// Typed digits stay when the prompt changes. Once all six are typed, input stops until this is called again: with
    /// `isWaiting` the digits stay visible, otherwise they are cleared. Escape cancels at any time, also in fullscreen:
    /// `.codeGivenUp`. Other keys keep their meaning.
    public func setCodeEntry(_ prompt: CodePrompt?) {
        var entry = panels.codeEntry
        if let prompt {
            if entry == nil { entry = CodeEntry(prompt) } else { entry?.ask(prompt) }
        } else {
            entry = nil
        }
        guard entry != panels.codeEntry else { return }
        // Text input is on only during code entry: otherwise keys are commands, and an input method would intercept
        // them.
        if (entry == nil) != (panels.codeEntry == nil) {
            if entry == nil { SDL_StopTextInput() } else { SDL_StartTextInput() }
        }
        panels.codeEntry = entry
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
        updateWatched()
    }

    /// Shows a warning about the picture at the window's edge, with an open padlock, without covering other text. Nil
    /// removes it. It is visible only with a picture.
    public func setWarning(_ warning: WindowWarning?) {
        guard warning != panels.badge?.warning else { return }
        panels.badge = warning.map { WarningBadge($0) }
        if isWatched { changeBadge { $0.showInFull(now: .now) } }
        isStale = true
    }

    private func changeBadge(_ change: (inout WarningBadge) -> Void) {
        guard picture != nil, var badge = panels.badge else { return }
        change(&badge)
        if badge.isFull != panels.badge?.isFull { isStale = true }
        panels.badge = badge
    }

    /// The lines of the statistics; a tab separates label and value. Visible while `showsStatistics`.
    public func setOverlay(_ lines: [String]?) {
        guard (lines ?? []) != panels.statistics else { return }
        panels.statistics = lines ?? []
        if panels.showsStatistics { isStale = true }
    }

    /// Redraws now if anything except the picture has changed. `waitForEvents` does so too.
    public func redrawIfNeeded() {
        if isStale { draw(.everything) }
    }

    /// The window's content as bgrx in the window's size; nil if there is none. Slow: for tests and screenshots.
    public func readBack() -> PixelBuffer? {
        loadFonts()
        fonts?.wait()
        updateFonts()
        redrawIfNeeded()
        return renderer.readBack(makeScene())
    }

    private func draw(_ change: SceneChange) {
        // This change is included in the next drawing.
        guard canDraw else { return isStale = true }
        let scene = makeScene()
        let change = scene.canvas == drawnSize ? change : .everything
        if case .picture(let damage) = change, damage.isEmpty { return }
        renderer.draw(scene, change: change)
        drawnSize = scene.canvas
        isStale = false
        if picture != nil { loadFonts() }
    }

    /// Whether somebody can see the window. If not, drawing would be for nothing.
    private var canDraw: Bool {
        !window.has(SDL_WINDOW_MINIMIZED) && x11?.isOutOfSight != true && window.pixelSize.area > 0
    }

    private func makeScene() -> Scene {
        let canvas = window.pixelSize
        let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: picture != nil)
        return Scene(
            canvas: canvas, background: picture == nil ? .plain : .black,
            picture: picture.map { ($0, $0.size.viewport(in: canvas)) },
            dimming: panels.hasWords ? Theme.dimming : 0, layers: hadFonts ? panels.layers(setting) : [])
    }

    private func loadFonts() {
        guard fonts == nil else { return }
        fontDeadline = .distantFuture
        let signal = self.signal
        fonts = FontLoader { signal.raise() }
    }

    private func updateFonts() {
        guard !hadFonts, fonts?.isReady == true else { return }
        hadFonts = true
        isStale = true
        setIcon()
    }

    /// Must be called after the first picture, and when text appears or disappears.
    private func updateWatched() {
        guard isWatched != (picture != nil && !panels.hasWords) else { return }
        isWatched.toggle()
        // The person may have forgotten the warning during the interruption, or be another person.
        if isWatched { changeBadge { $0.showInFull(now: .now) } }
        // The screen saver is off only while a picture is watched without text over it.
        if isWatched { SDL_DisableScreenSaver() } else { SDL_EnableScreenSaver() }
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
            var events = takeEvents()
            if signal.take() {
                updateFonts()
                events.append(.wake)
            }
            if !events.isEmpty || end <= .now {
                redrawIfNeeded()
                return events
            }
            if isStale, canDraw { continue }
            sleep(
                until: min(
                    end, fontDeadline, pointer.deadline ?? .distantFuture, panels.badge?.deadline ?? .distantFuture))
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

    private func handle(_ event: SDL_Event, _ events: inout [WindowEvent]) {
        switch SDL_EventType(event.type) {
        case SDL_QUIT: events.append(.quit)
        case SDL_WINDOWEVENT:
            switch SDL_WindowEventID(UInt32(event.window.event)) {
            case SDL_WINDOWEVENT_SIZE_CHANGED:
                isStale = true
                scale = window.scale(x11)
                events.append(.resized(window.pixelSize))
            case SDL_WINDOWEVENT_DISPLAY_CHANGED: updateScale()
            case SDL_WINDOWEVENT_EXPOSED, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_SHOWN: isStale = true
            default: break
            }
        case SDL_SYSWMEVENT: if let message = event.syswm.msg { handle(message.pointee) }
        case SDL_KEYDOWN: press(event.key, &events)
        case SDL_KEYUP: codeKeys.release()
        case SDL_TEXTINPUT: changeCode(&events) { codeKeys.type(event.text, into: &$0) }
        case SDL_MOUSEMOTION:
            pointer.restart(mayHide: mayHidePointer)
            changeBadge { $0.showInFull(now: .now) }
            if let index = entry(event.motion.x, event.motion.y) { select(index) }
        case SDL_MOUSEBUTTONDOWN where event.button.button == UInt8(SDL_BUTTON_LEFT):
            if let index = entry(event.button.x, event.button.y) {
                select(index)
                events.append(.chosen(index))
            } else if event.button.clicks == 2 {
                toggleFullscreen(&events)
            }
        case SDL_MOUSEWHEEL:
            if let picker = panels.picker { select(picker.selected - Int(event.wheel.y)) }
        default: break
        }
    }

    /// Handles what the X server has sent, which SDL passes on before it handles it itself.
    private func handle(_ message: SDL_SysWMmsg) {
        guard message.subsystem == SDL_SYSWM_X11 else { return }
        switch x11?.handle(message.msg.x11.event) {
        case .visibility: isStale = true
        case .resources: updateScale()
        case nil: break
        }
    }

    private func updateScale() {
        let scale = window.scale(x11)
        if scale != self.scale { isStale = true }
        self.scale = scale
    }

    private func press(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) {
        if changeCode(&events, { codeKeys.press(key, into: &$0) }) { return }
        // Ctrl-Q and the like belong to the desktop. Key repeats are ignored.
        let others = UInt32(KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue)
        guard UInt32(key.keysym.mod) & others == 0 else { return }
        let code = SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))
        if panels.codeEntry == nil, let picker = panels.picker, pick(picker, code, &events) { return }
        guard key.repeat == 0 else { return }
        switch code {
        case SDLK_q: events.append(.quit)
        case SDLK_f, SDLK_F11: toggleFullscreen(&events)
        case SDLK_ESCAPE where isFullscreen: toggleFullscreen(&events)
        case SDLK_i:
            showsStatistics.toggle()
            events.append(.statistics(isShown: showsStatistics))
        default: break
        }
    }

    /// Returns whether the key belonged to the code entry.
    @discardableResult private func changeCode(
        _ events: inout [WindowEvent], _ change: (inout CodeEntry) -> CodeKeys.Outcome
    ) -> Bool {
        guard var entry = panels.codeEntry else { return false }
        let outcome = change(&entry)
        if entry != panels.codeEntry {
            panels.codeEntry = entry
            isStale = true
        }
        switch outcome {
        case .ignored: return false
        case .taken: break
        case .complete(let code): events.append(.codeEntered(code))
        case .offerTaken: events.append(.offerTaken)
        case .givenUp: events.append(.codeGivenUp)
        }
        return true
    }

    /// Returns whether the key belonged to the list.
    private func pick(_ picker: Picker, _ code: SDL_KeyCode, _ events: inout [WindowEvent]) -> Bool {
        guard !picker.entries.isEmpty else { return false }
        switch code {
        case SDLK_UP: select(picker.selected - 1)
        case SDLK_DOWN: select(picker.selected + 1)
        case SDLK_PAGEUP: select(picker.selected - 5)
        case SDLK_PAGEDOWN: select(picker.selected + 5)
        case SDLK_HOME: select(0)
        case SDLK_END: select(picker.entries.count - 1)
        case SDLK_RETURN, SDLK_KP_ENTER, SDLK_SPACE: events.append(.chosen(picker.selected))
        default:
            let digits = [
                SDLK_1: 1, SDLK_2: 2, SDLK_3: 3, SDLK_4: 4, SDLK_5: 5, SDLK_6: 6, SDLK_7: 7, SDLK_8: 8, SDLK_9: 9,
            ]
            guard let digit = digits[code] else { return false }
            if let index = picker.entry(forDigit: digit) {
                select(index)
                events.append(.chosen(index))
            }
        }
        return true
    }

    private func select(_ index: Int) {
        guard var picker = panels.picker else { return }
        picker.select(index)
        guard picker != panels.picker else { return }
        panels.picker = picker
        isStale = true
    }

    /// The list entry at a pointer position in the display's units.
    private func entry(_ x: Int32, _ y: Int32) -> Int? {
        let ratio = window.pixelRatio
        return panels.entry(x: Int(Double(x) * ratio), y: Int(Double(y) * ratio))
    }

    private func toggleFullscreen(_ events: inout [WindowEvent]) {
        setFullscreen(!isFullscreen)
        events.append(.fullscreen(isFullscreen))
    }

    private func setFullscreen(_ wanted: Bool) {
        placement.setFullscreen(wanted)
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
    }

    private var mayHidePointer: Bool { isFullscreen && panels.picker == nil && panels.codeEntry == nil }
}
