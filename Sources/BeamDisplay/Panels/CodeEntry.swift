/// State of a six-digit code that a person types into the window.
struct CodeEntry: Hashable {
    static let length = 6
    /// In characters. A longer clipboard text is ignored, because it holds something else.
    private static let maxPasteLength = 256

    private(set) var prompt: CodePrompt
    /// ASCII digits, at most six.
    private(set) var digits = ""

    init(_ prompt: CodePrompt) { self.prompt = prompt }

    private var isComplete: Bool { digits.count == Self.length }

    /// Whether input is accepted. Complete digits have been reported and are being checked until `ask` is called again.
    var takesDigits: Bool { !prompt.isWaiting && !isComplete }

    /// Shows a prompt, or updates it. An incomplete code stays. A complete one stays while it is checked and is cleared
    /// when the check has failed or input is wanted again.
    mutating func ask(_ prompt: CodePrompt) {
        if isComplete, !prompt.isWaiting || prompt.problem != nil { digits = "" }
        self.prompt = prompt
    }

    /// Adds a digit of any script. Returns all six if this completes the code.
    mutating func type(_ character: Character) -> String? {
        guard takesDigits, let digit = Self.digit(character) else { return nil }
        digits.append(String(digit))
        return isComplete ? digits : nil
    }

    /// Enter takes the offer; with a digit typed it may have been meant for those.
    var takesOffer: Bool { prompt.takesOffer && takesDigits && digits.isEmpty }

    mutating func deleteLast() {
        if takesDigits { _ = digits.popLast() }
    }

    /// Extracts the code from pasted text: the only group of six consecutive digits, or else the only group of six
    /// separated by nothing but spaces or hyphens. Any other text is ignored.
    mutating func paste(_ text: String) -> String? {
        guard takesDigits, text.prefix(Self.maxPasteLength + 1).count <= Self.maxPasteLength else { return nil }
        let solid = text.split { Self.digit($0) == nil }
        let spaced = text.split { Self.digit($0) == nil && !$0.isWhitespace && !"-–".contains($0) }
        let found = [solid, spaced].lazy.compactMap { Self.onlyCode($0) }.first
        guard let found else { return nil }
        digits = found
        return found
    }

    private static func onlyCode(_ parts: [Substring]) -> String? {
        let codes = Set(parts.map { part in part.compactMap { digit($0) }.map(String.init).joined() })
            .filter { $0.count == length }
        return codes.count == 1 ? codes.first : nil
    }

    private static func digit(_ character: Character) -> Int? {
        // A keycap emoji such as `1️⃣` consists of several scalars and isn't a digit.
        guard character.unicodeScalars.count == 1,
            character.unicodeScalars.first?.properties.numericType == .decimal
        else { return nil }
        return character.wholeNumberValue
    }
}
