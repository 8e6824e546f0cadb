import BeamWire
import Glibc

/// How texts for people fit the terminal that they are read on: its characters, and its width.
public enum TerminalText {
    /// The terminal shows UTF-8: the locale says so, or says nothing.
    public static let isUnicode = isUnicode { getenv($0).map { String(cString: $0) } }

    /// The first of the three variables that isn't empty counts (POSIX, XBD 8.2).
    static func isUnicode(_ variable: (String) -> String?) -> Bool {
        guard let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first(where: { !$0.isEmpty }) else {
            return true
        }
        let name = locale.lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }

    /// What stands for typographic characters where they can't be shown. Letters stay: nobody's name is changed.
    private static let plain: [Unicode.Scalar: String] = [
        "×": "x", "“": "\"", "”": "\"", "„": "\"", "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "…": "...",
        "·": "-", "•": "-", "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "µ": "u", "μ": "u", "\u{A0}": " ",
        "\u{202F}": " ",
    ]

    /// The text in characters that the terminal shows.
    public static func shown(_ text: String, isUnicode: Bool = isUnicode) -> String {
        guard !isUnicode, !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        return text.unicodeScalars.reduce(into: "") { $0 += plain[$1] ?? String($1) }
    }

    /// The width in columns of the terminal at `descriptor`; 0: it isn't one, or doesn't say.
    public static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return 0 }
        return Int(size.ws_col)
    }

    /// A terminal narrower than this is left to break lines as it does.
    private static let leastColumns = 20

    /// Breaks lines between words, so that none is longer than `columns`, less one: some terminals wrap after writing into
    /// the last column. A line that goes on is indented as it begins. Code digits (`482 913`), sizes (`1280 × 720`) and
    /// commands in backquotes aren't broken, as far as they fit into a line.
    public static func wrapped(_ text: String, columns: Int) -> String {
        guard columns >= leastColumns else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            PeerText.columns(String(line)) < columns ? String(line) : wrapped(line: line, columns: columns)
        }.joined(separator: "\n")
    }

    private static func wrapped(line: Substring, columns: Int) -> String {
        let indent = String(line.prefix { $0 == " " })
        var lines: [String] = []
        var (last, width) = ("", 0)
        for word in words(line.dropFirst(indent.count)) {
            let length = PeerText.columns(word)
            if last.isEmpty {
                (last, width) = (indent + word, indent.count + length)
            } else if width + 1 + length < columns {
                last += " " + word
                width += 1 + length
            } else {
                lines.append(last)
                (last, width) = (indent + word, indent.count + length)
            }
        }
        return (lines + [last]).joined(separator: "\n")
    }

    /// What a line may be broken between.
    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var isCommand = false
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            if let last = words.last, isCommand || belongTogether(last, word) {
                words[words.count - 1] = last + " " + word
            } else {
                words.append(String(word))
            }
            if word.utf8.count(where: { $0 == UInt8(ascii: "`") }) % 2 == 1 { isCommand.toggle() }
        }
        return words
    }

    private static func belongTogether(_ first: String, _ second: Substring) -> Bool {
        if second == "×" || second == "x" || first.hasSuffix(" ×") || first.hasSuffix(" x") { return true }
        guard let end = first.utf8.last, let start = second.utf8.first else { return false }
        return isDigit(end) && isDigit(start)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension String {
    /// The text with each paragraph in one line, for help that the terminal's width breaks. An empty line ends a
    /// paragraph.
    public var inParagraphs: String {
        split(separator: "\n", omittingEmptySubsequences: false).reduce(into: "") { text, line in
            if line.isEmpty {
                text += "\n\n"
            } else {
                text += text.isEmpty || text.hasSuffix("\n") ? line : " " + line
            }
        }
    }
}
