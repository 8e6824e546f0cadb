/// What stands on a terminal after a program has written to it, as far as `beamroom` moves the cursor: line ends,
/// ESC [A (up), ESC [K (erase to the end of the row). Lines that are too long are wrapped, and wrapped anew when the width
/// changes, as most terminals do it. Each character takes one column.
struct TerminalScreen {
    private(set) var columns: Int
    /// Not wrapped.
    private(set) var lines: [[Character]] = [[]]
    /// How often the bell has rung.
    private(set) var bells = 0
    private var line = 0
    /// In the line, not in its row.
    private var column = 0
    /// The last column of a row was written: the next character wraps.
    private var isWrapDue = false

    init(columns: Int) { self.columns = columns }

    mutating func resize(columns: Int) { self.columns = columns }

    mutating func write(_ bytes: [UInt8]) {
        var text = Substring(String(decoding: bytes, as: UTF8.self))
        while let next = text.unicodeScalars.first {
            text = text.dropFirst(next == "\r" && text.hasPrefix("\r\n") ? 0 : 1)
            switch next {
            case "\u{1B}":
                guard text.first == "[" else { continue }
                let end = text.dropFirst().firstIndex { $0.isLetter } ?? text.endIndex
                let command = end < text.endIndex ? text[end] : " "
                text = end < text.endIndex ? text[text.index(after: end)...] : ""
                if command == "A" { up() } else if command == "K" { erase() }
            case "\r" where text.hasPrefix("\r\n"):
                text = text.dropFirst()
                down()
            case "\r": (column, isWrapDue) = (rowStart, false)
            case "\n": down()
            case "\u{7}": bells += 1
            default: put(Character(next))
            }
        }
    }

    /// All rows from the first one on.
    var rows: [String] {
        lines.flatMap { line in
            line.isEmpty
                ? [""]
                : stride(from: 0, to: line.count, by: columns).map { String(line[$0..<min($0 + columns, line.count)]) }
        }
    }

    /// The rows with something in them.
    var text: [String] { rows.filter { !$0.allSatisfy(\.isWhitespace) } }

    private var rowStart: Int { (isWrapDue ? column - 1 : column) / columns * columns }

    private mutating func put(_ character: Character) {
        while lines[line].count < column { lines[line].append(" ") }
        if column < lines[line].count { lines[line][column] = character } else { lines[line].append(character) }
        column += 1
        isWrapDue = column % columns == 0
    }

    private mutating func down() {
        line += 1
        if line == lines.count { lines.append([]) }
        (column, isWrapDue) = (0, false)
    }

    private mutating func up() {
        let offset = column - rowStart
        if rowStart > 0 {
            column -= columns
        } else if line > 0 {
            line -= 1
            column = max(0, lines[line].count - 1) / columns * columns + offset
        }
        isWrapDue = false
    }

    private mutating func erase() {
        let end = rowStart + columns
        guard column < lines[line].count else { return }
        if lines[line].count <= end {
            lines[line].removeSubrange(column...)
        } else {
            for index in column..<end { lines[line][index] = " " }
        }
    }
}
