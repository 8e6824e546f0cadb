import BeamMedia

/// Makes text from a peer, or from the clipboard, safe to draw: without control characters, characters that change the
/// direction of writing, and invisible ones (`ShownText`). Base directions and isolation are this program's decision.
enum VisibleText {
    enum Breaks {
        /// Line ends become blanks.
        case joined
        /// Line ends stay, but no empty lines.
        case kept
    }

    /// Whether U+200C and U+200D stay between two letters.
    enum Joiners {
        /// Of a name, or of text in which the program's own words stand.
        case removed
        /// Of captions and notes.
        case kept
    }

    /// Combining marks kept on one letter; more of them would cover the lines above and below.
    private static let mostMarks = 3

    /// Blanks are joined, and removed at both ends.
    static func cleaned(
        _ text: some StringProtocol, breaks: Breaks = .joined, joiners: Joiners = .removed
    ) -> String {
        ShownText.cleaned(text, keepsLines: breaks == .kept, keepsJoiners: joiners == .kept, mostMarks: mostMarks)
    }

    /// Names up to this length stay in one line.
    private static let longestUnbrokenName = 20

    /// No line ends within a code (`102 889`), an option (`--new-host`) or a short name of one word (“office-desk”):
    /// blanks between two digits, hyphens in words that begin with two and those of such a name become characters at which
    /// no line is broken.
    static func unbroken(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") }) else { return text }
        let letters = Array(text.unicodeScalars)
        func letter(_ index: Int) -> Unicode.Scalar { letters.indices.contains(index) ? letters[index] : " " }
        func isDigit(_ index: Int) -> Bool { ("0"..."9").contains(letter(index)) }
        var result = String.UnicodeScalarView()
        var isOption = false
        var nameEnd = 0
        for (index, own) in letters.enumerated() {
            switch own {
            case " ":
                isOption = false
                result.append(isDigit(index - 1) && isDigit(index + 1) ? "\u{a0}" : own)
            case "“":
                let rest = letters[index...].prefix(longestUnbrokenName + 2)
                let end = rest.firstIndex { $0 == "”" || $0 == " " }
                if let end, letters[end] == "”" { nameEnd = end }
                result.append(own)
            case "-" where index < nameEnd: result.append("\u{2011}")
            case "-":
                if letter(index + 1) == "-", !letter(index - 1).properties.isAlphabetic { isOption = true }
                result.append(isOption && letter(index - 1).properties.isAlphabetic ? "\u{2011}" : own)
            default: result.append(own)
            }
        }
        return String(result)
    }

    /// Text that a person types or pastes in pieces: control characters become blanks; blanks and joiners stay as they are.
    static func typed(_ text: some StringProtocol) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch ShownText.kind(scalar) {
            case .nothing: if scalar.properties.generalCategory == .control { result.append(" ") }
            case .blank: result.append(" ")
            case .mark, .letter, .joiner: result.append(scalar)
            }
        }
        return String(result)
    }

    /// A name for the beginning of a line: one line, at most 40 characters.
    static func name(_ text: String) -> String {
        // A bound before the characters are looked at, because a peer may send kilobytes.
        let name = cleaned(start(of: text, bytes: 512).text)
        return name.count > 40 ? name.prefix(39) + "…" : name
    }

    /// At most the first `bytes` of UTF-8, in whole scalars, and how many bytes are left out.
    static func start(of text: String, bytes: Int) -> (text: Substring, hidden: Int) {
        let count = text.utf8.count
        guard count > bytes else { return (text[...], 0) }
        let end = boundary(text, text.utf8.index(text.startIndex, offsetBy: bytes))
        return (text[..<end], text.utf8.distance(from: end, to: text.endIndex))
    }

    /// At least the last `bytes` of UTF-8, in whole scalars. The beginning moves in steps of a quarter, so that a text
    /// that grows isn't wrapped anew with each letter.
    static func end(of text: String, bytes: Int) -> Substring {
        let count = text.utf8.count
        guard count > bytes else { return text[...] }
        let step = max(1, bytes / 4)
        let offset = (count - bytes) / step * step
        return text[boundary(text, text.utf8.index(text.startIndex, offsetBy: offset))...]
    }

    /// The scalar's beginning at or before `index`.
    private static func boundary(_ text: String, _ index: String.Index) -> String.Index {
        var index = index
        while index > text.startIndex, index < text.endIndex, UTF8.isContinuation(text.utf8[index]) {
            index = text.utf8.index(before: index)
        }
        return index
    }

    /// Whether the first letter is of a script that is written from right to left (rules P2 and P3 of Unicode Standard
    /// Annex 9; the ranges are those of its classes R and AL in DerivedBidiClass.txt).
    static func isRightToLeft(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first(where: \.properties.isAlphabetic) else { return false }
        return rightToLeft.contains { $0.contains(first.value) }
    }

    private static let rightToLeft: [ClosedRange<UInt32>] = [
        0x590...0x8ff, 0xfb1d...0xfdff, 0xfe70...0xfeff, 0x10800...0x10fff, 0x1e800...0x1efff,
    ]
}
