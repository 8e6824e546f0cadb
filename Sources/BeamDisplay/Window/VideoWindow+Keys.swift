import BeamMedia
import CSDL2

/// The list of keys, the line that names a few of them, and the buttons that a key presses.
extension VideoWindow {
    /// For how long the line of hints is shown.
    static let hintTime = Duration.seconds(5)

    /// What decides which keys there are.
    var place: WindowCommand.Place {
        WindowCommand.Place(
            kind: isRoom ? .room : grid.sources.count > 1 ? .wall : .host,
            hasSeveral: grid.sources.count > 1, numbered: grid.sources.count,
            showsList: panels.picker != nil && panels.codeEntry == nil, takesAddress: panels.picker?.field != nil,
            asksForCode: panels.codeEntry != nil, hasOffer: offer != nil, offersRetry: offer == .tryAgain,
            allowsNotes: panels.allowsNotes, hasList: hasList, isReceiver: isReceiver)
    }

    /// What Enter does in a message or a code entry.
    private var offer: WindowButton? {
        if let entry = panels.codeEntry { return entry.takesOffer ? .askPerson : nil }
        return panels.picker == nil && panels.message?.buttons.contains(.tryAgain) == true ? .tryAgain : nil
    }

    func hintKeys() {
        panels.hint = Notice(
            WindowNotice(text: WindowCommand.hints(in: place), time: Self.hintTime), now: .now)
        areLayersStale = true
    }

    func showKeys() {
        panels.keys = WindowCommand.rows(in: place)
        panels.hint = nil
        areLayersStale = true
        pointer.restart(mayHide: mayHidePointer)
    }

    func hideKeys() {
        panels.keys = nil
        areLayersStale = true
    }

    /// Any key closes the list, and does nothing else. Returns whether the list was shown.
    func pressWithKeysShown(_ key: SDL_KeyboardEvent) -> Bool {
        guard panels.keys != nil else { return false }
        if key.repeat == 0, !Self.modifiers.contains(SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))) {
            hideKeys()
            ignoresText = true
        }
        return true
    }

    /// Returns whether the key belonged to a message's buttons.
    func pressInButtons(_ key: SDL_KeyboardEvent, _ code: SDL_KeyCode, _ events: inout [WindowEvent]) -> Bool {
        let buttons = panels.buttons
        guard panels.codeEntry == nil, panels.picker == nil, !buttons.isEmpty else { return false }
        let isShifted = UInt32(key.keysym.mod) & UInt32(KMOD_SHIFT.rawValue) != 0
        let selected = min(panels.selectedButton, buttons.count - 1)
        switch code {
        case SDLK_RETURN, SDLK_KP_ENTER, SDLK_SPACE: if key.repeat == 0 { press(buttons[selected], &events) }
        case SDLK_TAB where buttons.count > 1:
            selectButton((selected + (isShifted ? buttons.count - 1 : 1)) % buttons.count)
        case SDLK_LEFT where buttons.count > 1: selectButton(max(0, selected - 1))
        case SDLK_RIGHT where buttons.count > 1: selectButton(min(buttons.count - 1, selected + 1))
        default: return false
        }
        return true
    }

    func press(_ button: WindowButton, _ events: inout [WindowEvent]) {
        switch button {
        case .tryAgain, .askPerson: events.append(.offerTaken)
        case .chooseAnother: events.append(.listWanted)
        }
    }

    func selectButton(_ index: Int) {
        guard index != panels.selectedButton else { return }
        panels.selectedButton = index
        isStale = true
    }

    static let modifiers: Set<SDL_KeyCode> = [
        SDLK_LSHIFT, SDLK_RSHIFT, SDLK_LCTRL, SDLK_RCTRL, SDLK_LALT, SDLK_RALT, SDLK_LGUI, SDLK_RGUI, SDLK_MODE,
        SDLK_CAPSLOCK, SDLK_NUMLOCKCLEAR, SDLK_SCROLLLOCK,
    ]

    /// Follows the Ctrl key in the events' order: SDL's own state is that after the last event that has arrived.
    func noteControl(_ key: SDL_KeyboardEvent, isDown: Bool) {
        switch SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) {
        case SDLK_LCTRL, SDLK_RCTRL: isControlDown = isDown
        default: isControlDown = UInt32(key.keysym.mod) & UInt32(KMOD_CTRL.rawValue) != 0
        }
    }

    /// Whether a key types a question mark. SDL says only what a key types without Shift, so on X11 the server's own event
    /// is asked, and elsewhere a US keyboard is assumed.
    func takeQuestionMark(_ key: SDL_KeyboardEvent) -> Bool {
        defer { isQuestionMark = false }
        guard key.repeat == 0 else { return false }
        if x11 != nil { return isQuestionMark }
        let isShifted = UInt32(key.keysym.mod) & UInt32(KMOD_SHIFT.rawValue) != 0
        return isShifted && SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) == SDLK_SLASH
    }
}
