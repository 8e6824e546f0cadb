import CSDL2

/// Finds out which command a key means.
@MainActor enum CommandKeys {
    /// The key's character, or in a layout that can't type a letter or digit (Cyrillic, Greek, Hebrew, …) the one at the
    /// same place of a US keyboard. A layout that has them in other places (Dvorak, AZERTY) keeps them there.
    static func code(_ key: SDL_Keysym) -> SDL_KeyCode {
        let code = SDL_KeyCode(UInt32(bitPattern: key.sym))
        guard let usual = usual(key.scancode), SDL_GetScancodeFromKey(Int32(bitPattern: usual.rawValue)) == unknown
        else { return code }
        return usual
    }

    private static let unknown = SDL_SCANCODE_UNKNOWN

    /// The letter or digit at a place of a US keyboard. SDL numbers the places in the order of the alphabet, 0 after 9.
    private static func usual(_ place: SDL_Scancode) -> SDL_KeyCode? {
        switch place.rawValue {
        case SDL_SCANCODE_A.rawValue...SDL_SCANCODE_Z.rawValue:
            SDL_KeyCode(SDLK_a.rawValue + place.rawValue - SDL_SCANCODE_A.rawValue)
        case SDL_SCANCODE_1.rawValue...SDL_SCANCODE_9.rawValue:
            SDL_KeyCode(SDLK_1.rawValue + place.rawValue - SDL_SCANCODE_1.rawValue)
        default: nil
        }
    }
}
