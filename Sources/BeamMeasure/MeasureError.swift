/// Why a measurement failed. Each description is a person-facing sentence: what happened, to what, what to do.
public enum MeasureError: Error, Equatable, CustomStringConvertible, Sendable {
    /// Interrupted, for example by Ctrl-C. Results measured before it count.
    case cancelled
    /// A host or viewer process could not be started.
    case cannotStart(program: String, reason: String)
    /// The process ended too early; `words` is its last output.
    case ended(who: String, ending: String, words: String)
    /// The expected event didn't come in time: `what` is a clause, as in `No picture came`.
    case nothingCame(what: String, seconds: Double, words: String)
    /// A directory or file can't be read or written.
    case file(path: String, reason: String)
    /// A line of a results file is invalid.
    case badResults(path: String, line: Int, reason: String)
    /// The results file is empty.
    case noResults(path: String)
    /// The two results files have no cell in common.
    case nothingInCommon(path: String, theirs: [String], ours: [String])
    /// The recording can't be used as a reference.
    case unusableRecording(path: String, reason: String)

    public var description: String {
        switch self {
        case .cancelled: "The measurement was interrupted."
        case .cannotStart(let program, let reason): "\(program) can't be started: \(reason)."
        case .ended(let who, let ending, let words):
            "The \(who) ended too early (\(ending))." + Self.quote(words)
        case .nothingCame(let what, let seconds, let words):
            "\(what) within \(Int(seconds)) s." + Self.quote(words)
        case .file(let path, let reason): "\(path): \(reason)."
        case .badResults(let path, let line, let reason):
            "\(path), line \(line), isn't a result of `beamroom measure`: \(reason). Name an unmodified results.jsonl."
        case .noResults(let path):
            "There is no result in \(path). Name a results.jsonl that `beamroom measure` wrote."
        case .nothingInCommon(let path, let theirs, let ours):
            "Nothing in \(path) can be compared: it holds \(Self.list(theirs)), and what is measured now is "
                + "\(Self.list(ours)). Measure the same sizes, rates, contents and bit rate."
        case .unusableRecording(let path, let reason):
            "The recording \(path) can't be used as a reference: \(reason). This command makes one that can: "
                + "`ffmpeg -i INPUT -pix_fmt yuv420p OUTPUT.y4m`."
        }
    }

    private static func quote(_ words: String) -> String { words.isEmpty ? "" : " Its last output:\n\(words)" }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(4).joined(separator: ", ")
        return names.count > 4 ? shown + " and \(names.count - 4) more" : shown
    }
}
