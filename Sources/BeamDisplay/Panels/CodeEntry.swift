/// Six digits that a person types into the window.
struct CodeEntry: Hashable {
    static let length = 6
    /// A clipboard with more than this many characters holds something else.
    private static let longestPaste = 256

    private(set) var prompt: CodePrompt
    /// From `0` to `9`, at most six.
    private(set) var digits = ""

    init(_ prompt: CodePrompt) { self.prompt = prompt }

    private var isComplete: Bool { digits.count == Self.length }

    /// Complete digits have been handed on: until the question is put again they are being checked.
    var takesDigits: Bool { !prompt.isWaiting && !isComplete }

    /// Puts the question, or puts it again. What has been typed of a code stays; a whole one stays while it is checked, and
    /// then makes room.
    mutating func ask(_ prompt: CodePrompt) {
        if isComplete, !prompt.isWaiting || prompt.problem != nil { digits = "" }
        self.prompt = prompt
    }

    /// Takes a digit of any script; answers all six when that was the last.
    mutating func type(_ character: Character) -> String? {
        guard takesDigits, let digit = Self.digit(character) else { return nil }
        digits.append(String(digit))
        return isComplete ? digits : nil
    }

    mutating func deleteLast() {
        if takesDigits { _ = digits.popLast() }
    }

    /// Takes the only six digits in a row out of a text; if there are none, the only six with nothing but spaces or hyphens
    /// between them. Anything else changes nothing.
    mutating func paste(_ text: String) -> String? {
        guard takesDigits, text.prefix(Self.longestPaste + 1).count <= Self.longestPaste else { return nil }
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
        // One scalar only: `1️⃣` is a picture.
        guard character.unicodeScalars.count == 1,
            character.unicodeScalars.first?.properties.numericType == .decimal
        else { return nil }
        return character.wholeNumberValue
    }
}
