import BeamMedia

/// Turns the lines of a transcript into the entries of a file, one after the other. Without I/O and clock.
///
/// A cue of SubRip or WebVTT is complete when the next line is known: it is shown for `TranscriptLine.readingTime`, or until
/// the next one begins. Cues begin in order: a line with an earlier time than the last one begins with that. Lines that
/// begin within half a second, by several authors, don't end each other.
struct TranscriptFormatter {
    /// In ms. Later times are taken as this one.
    static let latest: Int64 = 1000 * 3_600_000
    /// In ms. A cue that is cut shorter can't be read.
    private static let shortestCut: Int64 = 500

    private struct Cue {
        /// In ms.
        var start: Int64
        var length: Int64
        var payload: String
    }

    let format: TranscriptFormat
    /// The cue that waits for the next line.
    private var cue: Cue?
    private var cues = 0
    private var lastStart: Int64 = 0

    init(_ format: TranscriptFormat) { self.format = format }

    /// What the file begins with.
    var header: String { format == .vtt ? "WEBVTT\n\n" : "" }

    /// How long the cue that waits is shown, if no other line follows; nil: none waits.
    var waitingTime: Duration? { cue.map { .milliseconds($0.length) } }

    /// The entry that `line` completes: its own, or the cue before; nil: none.
    mutating func add(_ line: TranscriptLine) -> String? {
        let text = ShownText.lines(line.text)
        guard !text.isEmpty else { return nil }
        let time = min(max(line.time.inNanoseconds / 1_000_000, 0), Self.latest)
        let payload: String
        switch format {
        case .txt: return Self.plain(line, text, at: time)
        case .jsonl: return Self.json(line, text, at: time)
        case .srt: payload = SubRip.payload(line.subtitle)
        case .vtt:
            let name = Self.escaped(Self.name(line))
            payload = (name.isEmpty ? "" : "<v \(name)>") + Self.escaped(text)
        }
        let start = max(time, lastStart)
        lastStart = start
        let complete = finish(before: start)
        cue = Cue(
            start: start, length: TranscriptLine.readingTime(of: text).inNanoseconds / 1_000_000, payload: payload)
        return complete
    }

    /// The cue that waits: nothing follows, or not before its end.
    mutating func finish() -> String? { finish(before: .max) }

    private mutating func finish(before next: Int64) -> String? {
        guard let cue else { return nil }
        self.cue = nil
        cues += 1
        let isCut = next - cue.start >= Self.shortestCut
        let end = isCut ? min(cue.start + cue.length, next) : cue.start + cue.length
        let (from, to) = (clock(cue.start), clock(end))
        return (format == .srt ? "\(cues)\n" : "") + "\(from) --> \(to)\n\(cue.payload)\n\n"
    }

    /// `HH:MM:SS,mmm`, with a point in WebVTT. There may be more than two digits of hours.
    private func clock(_ time: Int64) -> String {
        let (hours, minutes, seconds) = Self.parts(time)
        let point = format == .srt ? "," : "."
        return "\(Self.digits(hours, 2)):\(Self.digits(minutes, 2)):\(Self.digits(seconds, 2))"
            + "\(point)\(Self.digits(time % 1000, 3))"
    }

    private static func plain(_ line: TranscriptLine, _ text: String, at time: Int64) -> String {
        let (hours, minutes, seconds) = parts(time)
        let name = name(line)
        // A text can't look like the next entry.
        let indented = text.replacing("\n", with: "\n    ")
        return "[\(hours):\(digits(minutes, 2)):\(digits(seconds, 2))] \(name.isEmpty ? "" : "\(name): ")\(indented)\n"
    }

    private static func json(_ line: TranscriptLine, _ text: String, at time: Int64) -> String {
        let claim = line.isClaim ? "\"claimed\":true," : ""
        let speaker = line.speaker.map(ShownText.line).map { "\"speaker\":\(quoted($0)),\(claim)" } ?? ""
        return "{\"t\":\(time / 1000).\(digits(time % 1000, 3)),\"kind\":\"\(line.kind.rawValue)\","
            + "\"author\":\(quoted(ShownText.line(line.author))),\(speaker)\"text\":\(quoted(text))}\n"
    }

    /// Before the text; empty: nothing is.
    private static func name(_ line: TranscriptLine) -> String { line.voice ?? "" }

    /// WebVTT, 4.2.2: a cue's text, and the name in a voice tag.
    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// RFC 8259, 7. After `ShownText` a line feed is the only control character.
    private static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }

    private static func parts(_ time: Int64) -> (hours: Int64, minutes: Int64, seconds: Int64) {
        (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60)
    }

    private static func digits(_ value: Int64, _ count: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
