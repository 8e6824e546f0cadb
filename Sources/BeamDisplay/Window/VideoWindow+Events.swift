import BeamMedia
import CSDL2

/// What a person does with keys and mouse, and what happens to the window.
extension VideoWindow {
    func handle(_ event: SDL_Event, _ events: inout [WindowEvent]) {
        switch SDL_EventType(event.type) {
        case SDL_QUIT:
            // To SDL a compositor that has gone is a person who closes the window.
            if WaylandSurface.isLost(window) { DisplayLoss.notice() }
            events.append(.quit)
        case SDL_WINDOWEVENT:
            switch SDL_WindowEventID(UInt32(event.window.event)) {
            case SDL_WINDOWEVENT_SIZE_CHANGED:
                isStale = true
                placement.sizeChanged()
                scale = window.scale(x11)
                layoutChanged()
                events.append(.resized(window.pixelSize))
            case SDL_WINDOWEVENT_DISPLAY_CHANGED: updateScale()
            case SDL_WINDOWEVENT_FOCUS_LOST: closeMenu()
            case SDL_WINDOWEVENT_EXPOSED, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_SHOWN: isStale = true
            default: break
            }
        case SDL_SYSWMEVENT: if let message = event.syswm.msg { handle(message.pointee) }
        case SDL_KEYDOWN:
            ignoresText = false
            noteControl(event.key, isDown: true)
            press(event.key, &events)
        case SDL_KEYUP:
            noteControl(event.key, isDown: false)
            codeKeys.release()
        // The key has closed the list of keys, and does nothing else.
        case SDL_TEXTINPUT where ignoresText: break
        case SDL_TEXTINPUT:
            if !changeText({ NoteKeys.type(event.text, into: &$0) }) {
                changeCode(&events) { codeKeys.type(event.text, into: &$0) }
            }
        case SDL_TEXTEDITING: changeText { NoteKeys.compose(event.edit, into: &$0) }
        case SDL_TEXTEDITING_EXT:
            // It owns memory, also if there is no text any more.
            var ignored = NoteEntry()
            if !changeText({ NoteKeys.compose(event.editExt, into: &$0) }) {
                NoteKeys.compose(event.editExt, into: &ignored)
            }
        case SDL_MOUSEMOTION where panels.menu != nil: pointInMenu(event.motion)
        case SDL_MOUSEMOTION:
            if event.motion.state & leftButtonMask != 0 { drag(event.motion.x, event.motion.y) }
            pointer.restart(mayHide: mayHidePointer)
            changeBadge { $0.showInFull(now: .now) }
            if let index = entry(event.motion.x, event.motion.y) { select(index) }
            if let index = button(event.motion.x, event.motion.y) { selectButton(index) }
        case SDL_MOUSEBUTTONDOWN where panels.menu != nil: clickInMenu(event.button, &events)
        case SDL_MOUSEBUTTONDOWN where panels.keys != nil: hideKeys()
        case SDL_MOUSEBUTTONDOWN where event.button.button == UInt8(SDL_BUTTON_RIGHT):
            let (x, y) = pixel(event.button.x, event.button.y)
            openMenu(at: WindowMenu.Point(x: x, y: y))
        case SDL_MOUSEBUTTONUP: dragged = nil
        case SDL_MOUSEBUTTONDOWN where event.button.button == UInt8(SDL_BUTTON_LEFT): click(event.button, &events)
        case SDL_MOUSEWHEEL where panels.menu != nil: scrollMenu(event.wheel)
        case SDL_MOUSEWHEEL where panels.keys != nil: break
        case SDL_MOUSEWHEEL where isControlDown: zoom(byWheel: event.wheel)
        case SDL_MOUSEWHEEL:
            if let picker = panels.picker {
                select(picker.selected - Int(event.wheel.y))
            } else if panels.showsTranscript {
                // Three lines a notch; touchpads send parts of one.
                scroll(.lines(Double(-max(-20, min(20, event.wheel.preciseY))) * 3))
            }
        default: break
        }
    }

    private func click(_ button: SDL_MouseButtonEvent, _ events: inout [WindowEvent]) {
        beginDrag(button.x, button.y)
        let buttons = panels.buttons
        if let index = self.button(button.x, button.y), buttons.indices.contains(index) {
            press(buttons[index], &events)
        } else if isField(button.x, button.y) {
            focusField(true)
        } else if let index = entry(button.x, button.y) {
            select(index)
            events.append(.chosen(index))
        } else if clickInGrid(button) {
            return
        } else if button.clicks == 2, !isTranscript(button.x, button.y) {
            toggleFullscreen(&events)
        }
    }

    /// Handles what the X server has sent, which SDL passes on before it handles it itself.
    private func handle(_ message: SDL_SysWMmsg) {
        guard message.subsystem == SDL_SYSWM_X11 else { return }
        switch x11?.handle(message.msg.x11.event) {
        case .visibility: isStale = true
        case .resources: updateScale()
        case .key(let isQuestionMark): self.isQuestionMark = isQuestionMark
        case nil: break
        }
    }

    private func updateScale() {
        let scale = window.scale(x11)
        if scale != self.scale {
            isStale = true
            layoutChanged()
        }
        self.scale = scale
    }

    private func press(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) {
        let asksForKeys = takeQuestionMark(key)
        if pressInMenu(key, &events) { return }
        if pressWithKeysShown(key) { return }
        if Self.opensMenu(key) { return openMenu(at: nil) }
        // In a note it is text.
        if asksForKeys, !panels.showsNote || panels.codeEntry != nil { return showKeys() }
        if changeCode(&events, { codeKeys.press(key, into: &$0) }) { return }
        if pressInField(key, &events) { return }
        if panels.showsNote, pressInNote(key, &events) { return }
        if zoom(by: key) { return }
        // Ctrl-Q and the like belong to the desktop. Key repeats are ignored, but for the volume.
        let others = UInt32(KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue)
        guard UInt32(key.keysym.mod) & others == 0 else { return }
        let code = CommandKeys.code(key.keysym)
        if pressInAsk(code, isRepeated: key.repeat != 0, &events) { return }
        if panels.codeEntry == nil, let picker = panels.picker, pick(picker, code, &events) { return }
        if pressInButtons(key, code, &events) { return }
        if pressInGrid(key) { return }
        if panels.showsTranscript, let way = Self.scrolls[code] { return scroll(way) }
        if let steps = Self.volumeSteps[code] { return events.append(.volumeChanged(steps: steps)) }
        guard key.repeat == 0, let command = WindowCommand(code, place.kind) else { return }
        perform(command, &events)
    }

    func perform(_ command: WindowCommand, _ events: inout [WindowEvent]) {
        // A list or a code entry comes first.
        let isAsking = panels.picker != nil || panels.codeEntry != nil
        switch command {
        case .quit: events.append(.quit)
        case .help: showKeys()
        case .fullscreen: toggleFullscreen(&events)
        case .back: escape(&events)
        case .transcript:
            guard panels.showsTranscript || !isAsking else { return }
            showsTranscript.toggle()
            events.append(.transcript(isShown: showsTranscript))
        case .captions:
            showsCaptions.toggle()
            tell(showsCaptions ? "Captions are on" : "Captions are off: press c to show them")
            events.append(.captions(isShown: showsCaptions))
        case .mute: events.append(.muteToggled)
        case .note: if !isAsking { openNote() }
        case .share: events.append(.shareToggled)
        case .pause: events.append(.pauseToggled)
        case .people: togglePeople(&events)
        case .statistics:
            showsStatistics.toggle()
            events.append(.statistics(isShown: showsStatistics))
        case .actualPixels: toggleActualPixels()
        case .fit: showWholePicture()
        case .keepAbove: toggleAlwaysOnTop(&events)
        case .screenshot: wantScreenshot(&events)
        case .menu: openMenu(at: nil)
        default: performInMenu(command, &events)
        }
    }

    private func togglePeople(_ events: inout [WindowEvent]) {
        panels.showsPeople.toggle()
        areLayersStale = true
        // A code in the middle takes the message's place.
        if panels.code != nil { isStale = true }
        events.append(.people(isShown: panels.showsPeople))
    }

    /// Closes what was opened last, or leaves what was entered last; else the owner decides.
    private func escape(_ events: inout [WindowEvent]) {
        if panels.showsTranscript {
            showsTranscript = false
            events.append(.transcript(isShown: false))
        } else if panels.showsPeople, panels.code != nil || picture != nil || grid.isShown {
            togglePeople(&events)
        } else if isFullscreen, !isReceiver {
            toggleFullscreen(&events)
        } else if zoom != nil {
            showWholePicture()
        } else {
            events.append(.escaped)
        }
    }

    /// Returns whether the key belonged to the code entry.
    @discardableResult func changeCode(
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

    /// `=` is where `+` is on a US keyboard.
    private static let volumeSteps: [SDL_KeyCode: Int] = [
        SDLK_PLUS: 1, SDLK_EQUALS: 1, SDLK_KP_PLUS: 1, SDLK_MINUS: -1, SDLK_KP_MINUS: -1,
    ]

    private static let scrolls: [SDL_KeyCode: TranscriptView.Scroll] = [
        SDLK_UP: .lines(-1), SDLK_DOWN: .lines(1), SDLK_PAGEUP: .pages(-1), SDLK_PAGEDOWN: .pages(1),
        SDLK_HOME: .toBeginning, SDLK_END: .toEnd,
    ]

    private func scroll(_ way: TranscriptView.Scroll) {
        panels.transcript.scroll(way)
        areLayersStale = true
    }

    private func isTranscript(_ x: Int32, _ y: Int32) -> Bool {
        let (x, y) = pixel(x, y)
        return panels.transcriptRect?.contains(PixelRect(x: x, y: y, width: 1, height: 1)) ?? false
    }

    /// Returns whether the key belonged to the list.
    private func pick(_ picker: Picker, _ code: SDL_KeyCode, _ events: inout [WindowEvent]) -> Bool {
        guard !picker.entries.isEmpty else { return false }
        switch code {
        case SDLK_UP: select(picker.selected - 1)
        case SDLK_DOWN where picker.selected == picker.entries.count - 1 && picker.field != nil: focusField(true)
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
        guard var picker = panels.picker, !picker.isTyping else { return }
        picker.select(index)
        guard picker != panels.picker else { return }
        panels.picker = picker
        isStale = true
    }

    /// The list entry at a pointer position in the display's units.
    private func entry(_ x: Int32, _ y: Int32) -> Int? {
        let (x, y) = pixel(x, y)
        return panels.entry(x: x, y: y)
    }

    private func isField(_ x: Int32, _ y: Int32) -> Bool {
        let (x, y) = pixel(x, y)
        return panels.isField(x: x, y: y)
    }

    /// The number of the button there.
    private func button(_ x: Int32, _ y: Int32) -> Int? {
        let (x, y) = pixel(x, y)
        return panels.button(x: x, y: y)
    }

    private func toggleFullscreen(_ events: inout [WindowEvent]) {
        setFullscreen(!isFullscreen)
        events.append(.fullscreen(isFullscreen))
    }

    func setFullscreen(_ wanted: Bool) {
        placement.setFullscreen(wanted)
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
    }

    var mayHidePointer: Bool {
        isFullscreen && panels.picker == nil && panels.codeEntry == nil && panels.menu == nil
    }
}
