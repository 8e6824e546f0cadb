import BeamClock
import BeamMedia
import CSDL2
import Glibc

/// The window that a person watches a host in. Everything happens on the main thread; only `wake()` may be called from
/// any other.
///
/// Keys: `f` and F11 switch fullscreen, as a double click does; Escape leaves it; `i` switches the statistics; `q` quits.
@MainActor public final class VideoWindow {
    private let window: WindowHandle
    private let renderer: any Renderer
    private let x11: X11Connection?
    private let placement: WindowPlacement
    private let panels = PanelStack()
    private let fonts: FontLoader
    private nonisolated let signal: WakeSignal
    private var pointer = PointerHider()
    /// Until when the warning stands in full.
    private var badgeDeadline: MediaTime?

    private var picture: Picture?
    /// Something else than the picture has changed since the last drawing.
    private var isStale = true
    private var drawnSize = PixelSize(width: 0, height: 0)
    private var hadFonts = false
    private var isLossReported = false

    /// Opens the window, which is on the screen when this returns. One window at a time.
    public init(_ options: WindowOptions) throws(DisplayError) {
        let video = try SDLVideo(display: options.display)
        let size = WindowPlacement.initialSize(video)
        (window, renderer) = try RendererSelection.open(
            options.renderer, video: video, title: options.title, size: size)
        x11 = X11Connection(window)
        placement = WindowPlacement(window, x11)
        let signal = WakeSignal(usesDescriptor: x11 != nil)
        self.signal = signal
        fonts = FontLoader { signal.raise() }
        title = options.title
        panels.showsStatistics = options.showsStatistics
        setIcon()
        if options.isFullscreen { setFullscreen(true) }
        SDL_ShowWindow(window.raw)
        redrawIfNeeded()
    }

    isolated deinit { fonts.wait() }

    /// What draws: `software`, or OpenGL with the graphics processor's name.
    public var rendererName: String { renderer.name }

    /// What stands in the title bar.
    public var title: String {
        didSet { if title != oldValue, !isLost { SDL_SetWindowTitle(window.raw, title) } }
    }

    /// Whether the statistics given to `setOverlay` are shown. A person switches this with `i`.
    public var showsStatistics: Bool {
        get { panels.showsStatistics }
        set {
            panels.showsStatistics = newValue
            isStale = true
        }
    }

    public var isFullscreen: Bool { placement.isFullscreen }

    // MARK: - What is shown

    /// Shows `picture` at once, without waiting for the screen's beat where that doesn't tear, and keeps it until the
    /// next. The first one gives the window its size. What isn't in the picture's damage must be as in the picture before.
    ///
    /// Any size up to 8192 × 8192; the planes are read before this returns and when the window has to be drawn again.
    public func show(_ picture: Picture) {
        guard !isLost else { return }
        let old = self.picture
        self.picture = picture
        if old?.size != picture.size { placement.fit(to: picture.size) }
        let isContinued = old?.size == picture.size && old?.format == picture.format && old?.colour == picture.colour
        draw(isContinued && !isStale ? .picture(picture.damage) : .everything)
        if old == nil { keepScreenAwake() }
    }

    /// Puts words into the window, or takes them away: over the dimmed last picture, or on a calm background if there is none.
    public func setMessage(_ message: WindowMessage?) {
        guard message != panels.message else { return }
        panels.message = message
        isStale = true
        keepScreenAwake()
    }

    /// Lets the person choose from a list, in place of a message; an empty one says that hosts are being looked for. Nil
    /// takes it away.
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
        pointer.stir(mayHide: mayHidePointer)
        keepScreenAwake()
    }

    /// Asks for six digits, in place of a message or a list; `.codeEntered` brings them. What was typed stays while the words
    /// change, until all six are there. Nil takes it away.
    public func setCodeEntry(_ prompt: CodePrompt?) {
        guard prompt != panels.codeEntry?.prompt else { return }
        if let prompt, panels.codeEntry != nil {
            panels.codeEntry?.prompt = prompt
        } else {
            panels.codeEntry = prompt.map { CodeEntry($0) }
            // Otherwise keys are keys, and no input method stands in between.
            if !isLost { if prompt == nil { SDL_StopTextInput() } else { SDL_StartTextInput() } }
        }
        isStale = true
        pointer.stir(mayHide: mayHidePointer)
        keepScreenAwake()
    }

    /// A warning at the window's lower edge, over the picture; nil takes it away.
    public func setWarning(_ warning: WindowWarning?) {
        guard warning != panels.badge?.warning else { return }
        panels.badge = warning.map { WarningBadge(warning: $0) }
        badgeDeadline = nil
        isStale = true
    }

    /// The warning stands in full from now on, for some seconds.
    private func stirBadge() {
        guard panels.badge != nil, picture != nil else { return }
        badgeDeadline = .now + WarningBadge.fullTime
        guard panels.badge?.isFull == false else { return }
        panels.badge?.isFull = true
        isStale = true
    }

    private func shortenBadgeIfDue() {
        guard let badge = panels.badge, badge.isFull, picture != nil else { return }
        // Its time runs from the first picture on.
        guard let deadline = badgeDeadline else {
            badgeDeadline = .now + WarningBadge.fullTime
            return
        }
        guard deadline <= .now else { return }
        panels.badge?.isFull = false
        badgeDeadline = nil
        isStale = true
    }

    /// The statistics' lines; a tab parts a label from its value. They are seen while `showsStatistics`.
    public func setOverlay(_ lines: [String]?) {
        guard (lines ?? []) != panels.statistics else { return }
        panels.statistics = lines ?? []
        if panels.showsStatistics { isStale = true }
    }

    /// Draws now what has changed but the picture, which `waitForEvents` does by itself.
    public func redrawIfNeeded() {
        if isStale { draw(.everything) }
    }

    /// What a person sees, bgrx, in the window's size; nil if there is nothing to read. Slow: for tests and screenshots.
    public func readBack() -> PixelBuffer? {
        guard !isLost else { return nil }
        fonts.wait()
        noticeFonts()
        redrawIfNeeded()
        return renderer.readBack(makeScene())
    }

    private func draw(_ change: SceneChange) {
        guard canDraw else {
            // What this drawing would have brought is in the next.
            isStale = true
            return
        }
        let scene = makeScene()
        renderer.draw(scene, change: scene.canvas == drawnSize ? change : .everything)
        drawnSize = scene.canvas
        isStale = false
    }

    private var canDraw: Bool { !isLost && !window.has(SDL_WINDOW_MINIMIZED) && window.pixelSize.area > 0 }

    private func makeScene() -> Scene {
        let canvas = window.pixelSize
        let setting = PanelStack.Setting(
            canvas: canvas, textScale: window.textScale, isOverPicture: picture != nil)
        return Scene(
            canvas: canvas, background: picture == nil ? .calm : .black,
            picture: picture.map { ($0, $0.size.viewport(in: canvas)) },
            dimming: panels.hasWords ? Theme.dimming : 0, layers: fonts.isReady ? panels.layers(setting) : [])
    }

    private func noticeFonts() {
        guard !hadFonts, fonts.isReady else { return }
        hadFonts = true
        isStale = true
    }

    /// No screen saver while a picture is watched; with words in the window nobody misses anything.
    private func keepScreenAwake() {
        let isWatched = picture != nil && !panels.hasWords
        guard !isLost, isWatched == (SDL_IsScreenSaverEnabled() == SDL_TRUE) else { return }
        if isWatched { SDL_DisableScreenSaver() } else { SDL_EnableScreenSaver() }
    }

    private func setIcon() {
        let icon = Emblem.icon(side: 64)
        let surface = SDL_CreateRGBSurfaceWithFormatFrom(
            icon.base, 64, 64, 32, Int32(icon.stride), SDL_PIXELFORMAT_ARGB8888.rawValue)
        SDL_SetWindowIcon(window.raw, surface)
        SDL_FreeSurface(surface)
    }

    // MARK: - What happens

    /// Any thread: makes `waitForEvents` return with `.wake`. Many calls in a row are one.
    public nonisolated func wake() { signal.raise() }

    /// Draws what has changed, then sleeps until something happens, at most for `timeout`; nil is for ever.
    ///
    /// A `.wake` may come without a call.
    public func waitForEvents(timeout: Duration?) -> [WindowEvent] {
        let end = timeout.map { MediaTime.now + $0 } ?? .distantFuture
        while true {
            redrawIfNeeded()
            pointer.hideIfDue()
            shortenBadgeIfDue()
            var events = isLost ? [] : takeEvents()
            if signal.take() {
                noticeFonts()
                events.append(.wake)
            }
            if isLost, !isLossReported {
                isLossReported = true
                events.append(.displayLost)
            }
            if !events.isEmpty || end <= .now {
                redrawIfNeeded()
                return events
            }
            if isStale, canDraw { continue }
            sleep(until: min(end, pointer.deadline ?? .distantFuture, badgeDeadline ?? .distantFuture))
        }
    }

    private var isLost: Bool {
        if x11?.isLost == true { window.video.isLost = true }
        return window.video.isLost
    }

    private func sleep(until end: MediaTime) {
        // Rounded up, so as not to wake before it is time.
        let milliseconds =
            end == .distantFuture ? -1 : Int32(clamping: (max(.zero, end - .now).inNanoseconds + 999_999) / 1_000_000)
        guard let x11 else {
            SDL_WaitEventTimeout(nil, milliseconds)
            return
        }
        var descriptors = [
            pollfd(fd: signal.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isLost ? -1 : x11.fileDescriptor, events: Int16(POLLIN), revents: 0),
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
                events.append(.resized(window.pixelSize))
            case SDL_WINDOWEVENT_EXPOSED, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_SHOWN: isStale = true
            default: break
            }
        case SDL_KEYDOWN: press(event.key, &events)
        case SDL_TEXTINPUT: type(event.text, &events)
        case SDL_MOUSEMOTION:
            pointer.stir(mayHide: mayHidePointer)
            stirBadge()
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

    private func press(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) {
        if panels.codeEntry != nil, edit(key, &events) { return }
        // Ctrl-Q and Alt-F belong to somebody else; a key held down isn't pressed again.
        let others = UInt32(KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue)
        guard UInt32(key.keysym.mod) & others == 0 else { return }
        let code = SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))
        if let picker = panels.picker, pick(picker, code, &events) { return }
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

    /// Digits, whichever keys make them on this keyboard.
    private func type(_ input: SDL_TextInputEvent, _ events: inout [WindowEvent]) {
        guard panels.codeEntry != nil else { return }
        let text = withUnsafeBytes(of: input.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        for character in text { enter(&events) { $0.type(character) } }
    }

    /// Whether the key was for the code that is being typed.
    private func edit(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) -> Bool {
        let code = SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))
        let isControl = UInt32(key.keysym.mod) & UInt32(KMOD_CTRL.rawValue) != 0
        switch code {
        case SDLK_v where isControl:
            guard let clipboard = SDL_GetClipboardText() else { return false }
            defer { SDL_free(clipboard) }
            enter(&events) { $0.paste(String(cString: clipboard)) }
        case SDLK_BACKSPACE:
            enter(&events) {
                $0.deleteLast()
                return nil
            }
        default:
            return false
        }
        return true
    }

    /// Changes what was typed; six digits are handed on, and make room for others.
    private func enter(_ events: inout [WindowEvent], _ change: (inout CodeEntry) -> String?) {
        guard var entry = panels.codeEntry else { return }
        if let complete = change(&entry) {
            events.append(.codeEntered(complete))
            entry.clear()
        }
        panels.codeEntry = entry
        isStale = true
    }

    /// Whether the key was for the list.
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

    /// The list's entry under the pointer, whose place comes in the display's units.
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
        pointer.stir(mayHide: mayHidePointer)
    }

    private var mayHidePointer: Bool { isFullscreen && panels.picker == nil && panels.codeEntry == nil }
}
