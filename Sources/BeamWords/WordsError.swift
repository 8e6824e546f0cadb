/// Errors of the files that captions come from and transcripts go into.
public enum WordsError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The captions' file can't be opened.
    case cannotRead(path: String, reason: String)
    /// The transcript's name doesn't end in one of `TranscriptFormat`'s.
    case unknownFileEnding(path: String)
    case fileExists(path: String)
    case cannotCreateFile(path: String, reason: String)
    case cannotWriteFile(path: String, reason: String)

    /// A sentence for the person, or two.
    public var description: String {
        switch self {
        case .cannotRead(let path, let reason):
            "No captions can be read from “\(path)”: \(reason). Name a file, a pipe, or - for standard input."
        case .unknownFileEnding(let path):
            "“\(path)” must end in .txt, .srt, .vtt or .jsonl, which says what kind of transcript to write."
        case .fileExists(let path):
            "“\(path)” exists already and is left as it is. Choose another name, or remove it first."
        case .cannotCreateFile(let path, let reason):
            "“\(path)” can't be created: \(reason). Choose another place."
        case .cannotWriteFile(let path, let reason):
            "“\(path)” can't be continued: \(reason). What was written before is kept."
        }
    }
}
