/// Makes what a peer says of itself fit to be shown to a person: in a terminal, a window, its title, a notification, a log.
///
/// A peer chooses its name and its reasons freely, and could make them look like words of this program's own: a question with digits,
/// a second line, text that runs backwards. So what moves the cursor, turns the direction of writing or can't be seen is left out,
/// blanks are joined, quotation marks become apostrophes (this program quotes names itself), and the rest is cut.
public enum PeerText {
    /// Columns of a terminal that a name takes at most.
    public static let nameColumns = 32
    /// Columns of a terminal that a reason or another sentence takes at most.
    public static let sentenceColumns = 160
    /// What stands for a name of which nothing can be shown.
    public static let unnamed = "unnamed"

    /// Marks that may be put on one letter; more of them cover the lines above and below.
    private static let mostMarks = 2

    /// A name, to be quoted by whoever shows it. Never empty, at most `columns` wide.
    public static func name(_ text: String, columns: Int = nameColumns) -> String {
        let name = cut(cleaned(text), to: columns)
        return name.isEmpty ? unnamed : name
    }

    /// A reason or another sentence, at most `sentenceColumns` wide; it may be empty.
    public static func sentence(_ text: String) -> String { cut(cleaned(text), to: sentenceColumns) }

    /// A peer's reason, as words of the peer: this program's own sentences have no such quotation marks around them.
    public static func reason(_ text: String) -> String {
        let sentence = sentence(text)
        return sentence.isEmpty ? "it gives no reason" : "it says “\(sentence)”"
    }

    /// Columns of a terminal that the text takes, where East Asian wide characters and emoji take two and marks none.
    public static func columns(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    // MARK: What may be shown

    private enum Kind { case letter, mark, blank, nothing }

    private static func cleaned(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var marks = 0
        var isBlankDue = false
        for scalar in text.unicodeScalars {
            switch kind(scalar) {
            case .nothing: continue
            case .blank: isBlankDue = !result.isEmpty
            case .mark:
                marks += 1
                // Nor does a text begin with a mark, which would stand on the quotation mark before it.
                if marks <= mostMarks, !result.isEmpty, !isBlankDue { result.append(scalar) }
            case .letter:
                if isBlankDue { result.append(" ") }
                isBlankDue = false
                marks = 0
                result.append(isQuotationMark(scalar) ? "'" : scalar)
            }
        }
        return String(result)
    }

    private static func kind(_ scalar: Unicode.Scalar) -> Kind {
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint { return .nothing }
        switch properties.generalCategory {
        // Line and paragraph separators part words as a blank does; so does a line's end, which is a control character.
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: return .blank
        case .control: return properties.isWhitespace ? .blank : .nothing
        case .format, .surrogate, .privateUse, .unassigned: return .nothing
        case .nonspacingMark, .enclosingMark: return .mark
        // The blank pattern of Braille is a letter that nobody sees.
        default: return scalar == "\u{2800}" ? .blank : .letter
        }
    }

    /// Single quotation marks, which stand within words too.
    private static let apostrophes: [Unicode.Scalar] = ["'", "‘", "’", "‚", "‛", "‹", "›"]

    private static func isQuotationMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isQuotationMark && !apostrophes.contains(scalar)
    }

    // MARK: Width

    private static func cut(_ text: String, to columns: Int) -> String {
        guard Self.columns(text) > columns else { return text }
        var kept = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            used += width(scalar)
            // One column is for the sign that something is missing.
            guard used < columns else { break }
            kept.append(scalar)
        }
        while kept.last == " " { kept.removeLast() }
        return String(kept) + "…"
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: 0
        default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// Unicode's East_Asian_Width W and F (UAX #11), in whole blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7FB, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F000...0x1FAFF, 0x20000...0x3FFFD,
    ]
}
