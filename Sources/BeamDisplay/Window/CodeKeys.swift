import CSDL2

/// Interprets keys while a person types a code.
@MainActor struct CodeKeys {
    enum Outcome: Equatable {
        /// The key isn't for the code entry.
        case ignored
        case taken
        /// The code is complete: these six digits.
        case complete(String)
        case offerTaken
        case givenUp
    }

    /// The key whose text arrives next is a repeat, which is ignored.
    private var isRepeated = false

    mutating func press(_ key: SDL_KeyboardEvent, into entry: inout CodeEntry) -> Outcome {
        isRepeated = key.repeat != 0
        if Clipboard.isPaste(key.keysym) {
            return isRepeated ? .taken : Self.paste(into: &entry)
        }
        switch SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) {
        case SDLK_BACKSPACE:
            entry.deleteLast()
            return .taken
        case SDLK_RETURN, SDLK_KP_ENTER: return entry.takesOffer && !isRepeated ? .offerTaken : .taken
        case SDLK_ESCAPE: return isRepeated ? .taken : .givenUp
        default: break
        }
        // Without Num Lock, keypad keys produce no text. Here they can only mean digits.
        if let digit = Self.keypadDigit(key.keysym), !isRepeated, !Self.isTextNext {
            return entry.type(digit).map { .complete($0) } ?? .taken
        }
        return .ignored
    }

    /// Takes the code from the clipboard.
    static func paste(into entry: inout CodeEntry) -> Outcome {
        guard let text = Clipboard.text else { return .taken }
        return entry.paste(text).map { .complete($0) } ?? .taken
    }

    mutating func release() { isRepeated = false }

    /// Takes digits from text input, whatever keys produce them.
    func type(_ input: SDL_TextInputEvent, into entry: inout CodeEntry) -> Outcome {
        guard !isRepeated else { return .taken }
        let text = withUnsafeBytes(of: input.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        for character in text {
            if let complete = entry.type(character) { return .complete(complete) }
        }
        return .taken
    }

    private static func keypadDigit(_ key: SDL_Keysym) -> Character? {
        let digits: [SDL_Scancode] = [
            SDL_SCANCODE_KP_0, SDL_SCANCODE_KP_1, SDL_SCANCODE_KP_2, SDL_SCANCODE_KP_3, SDL_SCANCODE_KP_4,
            SDL_SCANCODE_KP_5, SDL_SCANCODE_KP_6, SDL_SCANCODE_KP_7, SDL_SCANCODE_KP_8, SDL_SCANCODE_KP_9,
        ]
        return digits.firstIndex(of: key.scancode).map { Character(String($0)) }
    }

    /// Whether the next event is text input; SDL queues it directly after the key.
    private static var isTextNext: Bool {
        var next = SDL_Event()
        let count = SDL_PeepEvents(
            &next, 1, SDL_PEEKEVENT, SDL_FIRSTEVENT.rawValue, SDL_LASTEVENT.rawValue)
        return count > 0 && SDL_EventType(next.type) == SDL_TEXTINPUT
    }
}
