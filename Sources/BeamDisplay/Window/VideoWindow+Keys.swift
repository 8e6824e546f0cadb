import BeamMedia
import CSDL2

/// The list of keys, and the line that names a few of them.
extension VideoWindow {
    /// For how long the line of hints is shown.
    static let hintTime = Duration.seconds(5)

    /// What decides which keys there are.
    var place: WindowCommand.Place {
        WindowCommand.Place(
            kind: isRoom ? .room : grid.sources.count > 1 ? .wall : .host,
            hasSeveral: grid.sources.count > 1, numbered: grid.sources.count,
            showsList: panels.picker != nil && panels.codeEntry == nil, asksForCode: panels.codeEntry != nil,
            hasOffer: panels.codeEntry?.takesOffer ?? (panels.message?.takesEnter == true && panels.picker == nil),
            allowsNotes: panels.allowsNotes, hasList: hasList)
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

    private static let modifiers: Set<SDL_KeyCode> = [
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
