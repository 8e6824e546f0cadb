/// Six digits that a person types into the window.
struct CodeEntry: Hashable {
    static let length = 6

    var prompt: CodePrompt
    private(set) var digits = ""

    init(_ prompt: CodePrompt) { self.prompt = prompt }

    /// Takes a digit; answers all six when that was the last.
    mutating func type(_ digit: Character) -> String? {
        guard digits.count < Self.length, ("0"..."9").contains(digit) else { return nil }
        digits.append(digit)
        return digits.count == Self.length ? digits : nil
    }

    mutating func deleteLast() { _ = digits.popLast() }

    mutating func clear() { digits = "" }

    /// Takes six digits out of a text, whatever stands between them; anything else changes nothing.
    mutating func paste(_ text: String) -> String? {
        // What is longer is no code; don't look at all of it.
        let found = text.prefix(64).filter { ("0"..."9").contains($0) }
        guard found.count == Self.length, text.count <= 64 else { return nil }
        digits = found
        return digits
    }

    /// As it stands in the window: what is missing yet has a place.
    var message: WindowMessage {
        let missing = String(repeating: "–", count: Self.length - digits.count)
        return WindowMessage(headline: prompt.headline, detail: prompt.detail, code: digits + missing)
    }
}
