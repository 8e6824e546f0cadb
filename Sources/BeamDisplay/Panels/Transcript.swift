import BeamMedia

/// The lines of a session, as far as the window keeps them.
struct Transcript {
    /// Beyond these the oldest lines go, a tenth of all at once.
    static let mostLines = 100_000
    static let mostBytes = 64 << 20
    /// The same for each of several sources.
    static let mostLinesOfSource = mostLines / 10
    static let mostBytesOfSource = mostBytes / 10
    /// What is shown of a line's text, in bytes of UTF-8.
    static let longestText = 2048

    private static let longestName = 512

    struct Entry {
        /// Its text is cut to `longestText`, but not cleaned: that is done for visible lines only.
        var line: TranscriptLine
        /// Bytes of the text that were cut off.
        var hidden: Int
    }

    private var entries: [Entry] = []
    private let lineLimit: Int
    private let byteLimit: Int
    /// The number of the first line that is kept. A line's number never changes.
    private(set) var first = 0
    /// The number of the first line since the last `clear`.
    private var start = 0
    private var bytes = 0
    private var given = TranscriptHeading.nothingYet
    /// Changes with each change.
    private(set) var version = 0

    /// The numbers of the lines that are kept.
    var numbers: Range<Int> { first..<first + entries.count }

    subscript(number: Int) -> Entry { entries[number - first] }

    /// What has been given, unless older lines have gone since. Lines without a heading may not be all.
    var heading: TranscriptHeading {
        guard let oldest = entries.first, first > start || given == .nothingYet else { return given }
        return .since(oldest.line.time)
    }

    mutating func setHeading(_ heading: TranscriptHeading) {
        guard heading != given else { return }
        given = heading
        version += 1
    }

    mutating func append(_ lines: [TranscriptLine]) {
        guard !lines.isEmpty else { return }
        version += 1
        for line in lines {
            var line = line
            let (text, hidden) = VisibleText.start(of: line.text, bytes: Self.longestText)
            if hidden > 0 { line.text = String(text) }
            line.author = String(VisibleText.start(of: line.author, bytes: Self.longestName).text)
            line.speaker = line.speaker.map { String(VisibleText.start(of: $0, bytes: Self.longestName).text) }
            bytes += Self.size(line)
            entries.append(Entry(line: line, hidden: hidden))
            // With slack, so that not each line moves all others.
            if entries.count > lineLimit * 11 / 10 { removeOldest(entries.count - lineLimit) }
            while bytes > byteLimit { removeOldest(entries.count / 10 + 1) }
        }
    }

    /// Line numbers go on.
    mutating func clear() {
        let next = numbers.upperBound
        self = Transcript(version: version + 1, lineLimit, byteLimit)
        start = next
        first = next
    }

    /// - Parameter isOfSource: one of several in a window.
    init(isOfSource: Bool = false) {
        self.init(
            version: 0, isOfSource ? Self.mostLinesOfSource : Self.mostLines,
            isOfSource ? Self.mostBytesOfSource : Self.mostBytes)
    }

    private init(version: Int, _ lineLimit: Int, _ byteLimit: Int) {
        self.version = version
        self.lineLimit = lineLimit
        self.byteLimit = byteLimit
    }

    private mutating func removeOldest(_ count: Int) {
        for entry in entries.prefix(count) { bytes -= Self.size(entry.line) }
        entries.removeFirst(count)
        first += count
    }

    private static func size(_ line: TranscriptLine) -> Int {
        line.text.utf8.count + line.author.utf8.count + (line.speaker?.utf8.count ?? 0)
            + MemoryLayout<Entry>.stride
    }
}
