import BeamMedia

/// Makes text from a peer safe to show to a person: in a terminal, a window, its title, a notification, a log.
///
/// A peer chooses its name and its reasons, and could make them look like this program's own output: a question with
/// digits, a second line, text that runs backwards. So control characters, characters that change the direction of
/// writing and invisible ones are removed, blanks are joined, quotation marks become apostrophes (this program puts
/// names in quotation marks), and the rest is cut to length.
public enum PeerText {
    /// The greatest width of a name, in columns of a terminal.
    public static let nameColumns = 32
    /// The greatest width of a reason or another sentence, in columns of a terminal.
    public static let sentenceColumns = 160
    /// Replaces a name without any visible character.
    public static let unnamed = "unnamed"

    /// Combining marks kept on one letter; more of them would cover the lines above and below.
    private static let mostMarks = 2
    /// The greatest length in bytes of UTF-8, for each column of the greatest width. Combining marks have no width, and
    /// would otherwise make a name longer than files take (255 bytes).
    private static let bytesPerColumn = 4

    /// A name, for the caller to put in quotation marks. Never empty, at most `columns` wide, and at most four times as
    /// many bytes long.
    public static func name(_ text: String, columns: Int = nameColumns) -> String {
        let name = cut(cleaned(text), to: columns)
        return name.isEmpty ? unnamed : name
    }

    /// A reason or another sentence, at most `sentenceColumns` wide; it may be empty.
    public static func sentence(_ text: String) -> String { cut(cleaned(text), to: sentenceColumns) }

    /// A note, whole: at most as many columns wide as a note may have bytes. It may be empty.
    public static func note(_ text: String) -> String { cut(cleaned(text), to: LogLimits.note) }

    /// A peer's reason, in quotation marks, which this program's own sentences don't have.
    public static func reason(_ text: String) -> String {
        let sentence = sentence(text)
        return sentence.isEmpty ? "it gives no reason" : "it says “\(sentence)”"
    }

    /// Quoted for a shell, so that a command with a peer's name in it can be copied from a message as it is.
    public static func shellWord(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

    /// The command that renames a device, for a message. A new name that was cut to length isn't one to be copied.
    public static func renameCommand(_ known: String, to name: String) -> String {
        "`beamroom devices rename \(shellWord(known)) \(isCut(name) ? "NAME" : shellWord(name))`"
    }

    /// Whether `name` has lost its end here.
    public static func isCut(_ name: String) -> Bool { name.hasSuffix("…") }

    /// The text's width in columns of a terminal: two for East Asian wide characters and emoji, none for combining
    /// marks.
    public static func columns(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    // MARK: Cleaning

    private static func cleaned(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var marks = 0
        var isBlankDue = false
        for scalar in text.unicodeScalars {
            switch ShownText.kind(scalar) {
            case .nothing, .joiner: continue
            case .blank: isBlankDue = !result.isEmpty
            case .mark:
                marks += 1
                // A mark at the beginning would appear on the quotation mark before it.
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

    /// Single quotation marks are kept, as they occur within words.
    private static let apostrophes: [Unicode.Scalar] = ["'", "‘", "’", "‚", "‛", "‹", "›"]

    private static func isQuotationMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isQuotationMark && !apostrophes.contains(scalar)
    }

    // MARK: Width

    private static func cut(_ text: String, to columns: Int) -> String {
        let bytes = columns * bytesPerColumn
        guard Self.columns(text) > columns || text.utf8.count > bytes else { return text }
        var kept = String.UnicodeScalarView()
        var (usedColumns, usedBytes) = (0, 0)
        for scalar in text.unicodeScalars {
            usedColumns += width(scalar)
            usedBytes += UTF8.width(scalar)
            // One column and three bytes are for the ellipsis.
            guard usedColumns < columns, usedBytes <= bytes - 3 else { break }
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
