/// The kinds of transcripts, by file ending.
public enum TranscriptFormat: String, Sendable, CaseIterable {
    /// For people: `[0:01:23] name: text`. Further lines of a text are indented by four blanks.
    case txt
    /// SubRip.
    case srt
    /// WebVTT (W3C), with the name in a voice tag.
    case vtt
    /// A JSON object a line: `t` (seconds), `kind`, `author`, `speaker` (if there is one), `text`.
    case jsonl

    /// The format of the file at `path`.
    ///
    /// - Throws: `unknownFileEnding`.
    public init(path: String) throws(WordsError) {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex,
            let format = TranscriptFormat(rawValue: name[name.index(after: dot)...].lowercased())
        else { throw .unknownFileEnding(path: path) }
        self = format
    }
}
