import BeamMedia
import CSDL2

/// The line below the list of hosts in which a person types an address.
extension VideoWindow {
    /// What is typed goes into the line, or to the list again.
    func focusField(_ isFocused: Bool) {
        guard var field = panels.picker?.field else { return }
        field.isFocused = isFocused
        panels.picker?.field = field
        panels.showsNote = false
        isStale = true
        updateTextInput()
    }

    /// Changes the text that is being written: a note, or an address. Returns whether there is one.
    @discardableResult func changeText(_ change: (inout NoteEntry) -> Void) -> Bool {
        guard panels.picker?.isTyping == true, panels.codeEntry == nil else { return changeNote(change) }
        changeField { change(&$0.text) }
        return true
    }

    private func changeField(_ change: (inout AddressField) -> Void) {
        guard var field = panels.picker?.field else { return }
        let old = field
        change(&field)
        guard field != old else { return }
        if field.address != old.address { field.verdict = field.address.isEmpty ? nil : checkAddress?(field.address) }
        panels.picker?.field = field
        isStale = true
    }

    /// Returns whether the key belonged to the line: also one that leads to it.
    func pressInField(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) -> Bool {
        guard let picker = panels.picker, let field = picker.field, panels.codeEntry == nil else { return false }
        let code = SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))
        guard field.isFocused else {
            let others = UInt32(KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue)
            if code == SDLK_TAB, UInt32(key.keysym.mod) & others == 0 {
                focusField(true)
            } else if Clipboard.isPaste(key.keysym) {
                focusField(true)
                changeField { _ = NoteKeys.press(key, into: &$0.text) }
            } else {
                return false
            }
            return true
        }
        switch code {
        case SDLK_TAB, SDLK_UP: if !picker.entries.isEmpty || code == SDLK_TAB { focusField(false) }
        case SDLK_DOWN: break
        default:
            var outcome = NoteKeys.Outcome.ignored
            changeField { outcome = NoteKeys.press(key, into: &$0.text) }
            switch outcome {
            case .ignored: return false
            case .taken: break
            case .givenUp: focusField(false)
            case .finished: enterAddress(field, &events)
            }
        }
        return true
    }

    private func enterAddress(_ field: AddressField, _ events: inout [WindowEvent]) {
        guard !field.address.isEmpty else { return }
        // What is wrong stands below it.
        if case .bad = field.verdict { return }
        events.append(.addressEntered(field.address))
    }
}
