import CSDL2

/// Interprets keys while a person writes a note.
@MainActor enum NoteKeys {
    enum Outcome: Equatable {
        /// The key isn't for the note.
        case ignored
        case taken
        /// Enter was pressed.
        case finished
        case givenUp
    }

    static func press(_ key: SDL_KeyboardEvent, into note: inout NoteEntry) -> Outcome {
        if Clipboard.isPaste(key.keysym) {
            if let text = Clipboard.text { note.insert(text) }
            return .taken
        }
        // An input method has its own keys for what it composes, and passes on those that it doesn't use.
        switch SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) {
        case SDLK_F11: return .ignored
        case SDLK_ESCAPE: return key.repeat == 0 ? .givenUp : .taken
        case SDLK_RETURN, SDLK_KP_ENTER: return key.repeat == 0 ? .finished : .taken
        case SDLK_BACKSPACE: note.deleteBackward()
        case SDLK_DELETE: note.deleteForward()
        case SDLK_LEFT: note.move(towardsBeginning: true)
        case SDLK_RIGHT: note.move(towardsBeginning: false)
        case SDLK_HOME: note.moveToBeginning()
        case SDLK_END: note.moveToEnd()
        // Text comes as text input.
        default: break
        }
        return .taken
    }

    static func type(_ input: SDL_TextInputEvent, into note: inout NoteEntry) {
        note.insert(withUnsafeBytes(of: input.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }

    /// What an input method is composing; SDL cuts it to 31 bytes, perhaps within a character.
    static func compose(_ input: SDL_TextEditingEvent, into note: inout NoteEntry) {
        let text = withUnsafeBytes(of: input.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        note.compose(text, cursor: Int(input.start))
    }

    /// The same for longer texts.
    static func compose(_ input: SDL_TextEditingExtEvent, into note: inout NoteEntry) {
        guard let raw = input.text else { return note.endComposing() }
        defer { SDL_free(raw) }
        note.compose(String(cString: raw), cursor: Int(input.start))
    }
}

/// The desktop's clipboard.
@MainActor enum Clipboard {
    /// Nil: it holds no text. Invalid UTF-8 is replaced.
    static var text: String? {
        guard let raw = SDL_GetClipboardText() else { return nil }
        defer { SDL_free(raw) }
        return String(cString: raw)
    }

    /// Whether a key means that the clipboard's text is pasted.
    static func isPaste(_ key: SDL_Keysym) -> Bool {
        func has(_ modifiers: SDL_Keymod...) -> Bool { modifiers.contains { UInt32(key.mod) & $0.rawValue != 0 } }
        guard !has(KMOD_LALT, KMOD_GUI) else { return false }
        switch CommandKeys.code(key) {
        case SDLK_INSERT: return has(KMOD_SHIFT)
        case SDLK_v: return has(KMOD_CTRL)
        default: return false
        }
    }
}
