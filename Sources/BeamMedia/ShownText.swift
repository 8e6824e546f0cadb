/// Which characters of somebody else's text may be shown to a person: in a terminal, a window, a file.
///
/// Control characters could move a terminal's cursor, bidirectional and invisible ones could make a text look like another
/// one. They are removed.
public enum ShownText {
    public enum CharacterKind: Sendable {
        case letter
        /// A combining mark without a width of its own.
        case mark
        /// A blank of any width, a tab, or a line end.
        case blank
        /// U+200C or U+200D: invisible, but Persian, Indic scripts and emoji need them between two letters.
        case joiner
        /// Nothing that may be shown: a control, bidirectional, invisible, private or unassigned character.
        case nothing
    }

    public static func kind(_ scalar: Unicode.Scalar) -> CharacterKind {
        if scalar.isASCII {
            switch scalar.value {
            case 0x21...0x7E: return .letter
            case 0x20, 0x09...0x0D: return .blank
            default: return .nothing
            }
        }
        if scalar == "\u{200C}" || scalar == "\u{200D}" { return .joiner }
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return .nothing }
        switch properties.generalCategory {
        // Line and paragraph separators count as blanks; so do line ends, which are control characters.
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: return .blank
        case .control: return properties.isWhitespace ? .blank : .nothing
        case .format, .surrogate, .privateUse, .unassigned: return .nothing
        case .nonspacingMark, .enclosingMark: return .mark
        // U+2800, the blank Braille pattern, is a letter by its category but invisible.
        default: return scalar == "\u{2800}" ? .blank : .letter
        }
    }

    /// Combining marks kept on one letter of a longer text: vowel points and cantillation in Hebrew need four.
    public static let mostMarks = 4

    /// A caption or a note in lines without the characters that may not be shown. Lines are separated by a line feed; none
    /// is empty, begins or ends with a blank, or has two blanks in a row. A joiner stays between two letters (or marks)
    /// that aren't both ASCII: never at a line's ends, never two in a row. The result may be empty.
    public static func lines(_ text: String) -> String { cleaned(text, keepsLines: true, keepsJoiners: true) }

    /// A name in one line, as `lines` has it but without joiners: line ends become blanks.
    public static func line(_ text: String) -> String { cleaned(text, keepsLines: false, keepsJoiners: false) }

    /// What `lines` and `line` do. `mostMarks` is how many combining marks one letter keeps.
    public static func cleaned(
        _ text: some StringProtocol, keepsLines: Bool, keepsJoiners: Bool, mostMarks: Int = mostMarks
    ) -> String {
        if isClean(text) { return String(text) }
        var result = String.UnicodeScalarView()
        var marks = 0
        // What stands between the last character and the next one.
        var gap: Unicode.Scalar?
        var joiner: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch kind(scalar) {
            case .nothing: continue
            case .blank:
                if keepsLines, isLineEnd(scalar) { gap = "\n" } else if gap == nil { gap = " " }
                joiner = nil
            case .joiner: if keepsJoiners, gap == nil, !result.isEmpty { joiner = joiner ?? scalar }
            case .mark:
                marks += 1
                // A mark at the beginning would appear on the character before the text.
                guard marks <= mostMarks, !result.isEmpty, gap == nil else { continue }
                if let joiner { result.append(joiner) }
                joiner = nil
                result.append(scalar)
            case .letter:
                if let gap, !result.isEmpty { result.append(gap) }
                // In ASCII text it could only hide something: in a word, or in a mark of a subtitle format.
                if let joiner, let last = result.last, !scalar.isASCII || !last.isASCII { result.append(joiner) }
                (gap, joiner) = (nil, nil)
                marks = 0
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Printable ASCII with single blanks between words, which is most of what comes.
    private static func isClean(_ text: some StringProtocol) -> Bool {
        var last = UInt8(ascii: " ")
        for byte in text.utf8 {
            guard byte > 0x20 || last != 0x20, (0x20...0x7E).contains(byte) else { return false }
            last = byte
        }
        return last != 0x20 || text.isEmpty
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }
}
