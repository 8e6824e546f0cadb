/// Why something could not be measured. Each description is what the person reads: what happened, about what, what to do.
public enum MeasureError: Error, Equatable, CustomStringConvertible, Sendable {
    /// Ctrl-C, or its like: what was measured before counts.
    case cancelled
    /// The host's or the viewer's process could not be started.
    case cannotStart(program: String, reason: String)
    /// It has ended before it was to; `words` is what it said last.
    case ended(who: String, ending: String, words: String)
    /// What was waited for hasn't come.
    case nothingCame(what: String, seconds: Double, words: String)
    /// A directory or file can't be written or read.
    case file(path: String, reason: String)
    /// A results file's line isn't one.
    case badResults(path: String, line: Int, reason: String)
    /// A results file without a single result.
    case noResults(path: String)
    /// Two results files have nothing in common.
    case nothingInCommon(path: String, theirs: [String], ours: [String])
    /// A recording that can't serve as the reference.
    case unusableRecording(path: String, reason: String)

    public var description: String {
        switch self {
        case .cancelled: "The measurement was broken off."
        case .cannotStart(let program, let reason): "\(program) can't be started: \(reason)."
        case .ended(let who, let ending, let words):
            "The \(who) has ended too early (\(ending))." + Self.quote(words)
        case .nothingCame(let what, let seconds, let words):
            "\(what) hasn't come within \(Int(seconds)) s." + Self.quote(words)
        case .file(let path, let reason): "\(path): \(reason)."
        case .badResults(let path, let line, let reason):
            "\(path), line \(line), is no result of `beamroom measure`: \(reason). Name a results.jsonl as it was written."
        case .noResults(let path):
            "There is no result in \(path). Name a results.jsonl that `beamroom measure` has written."
        case .nothingInCommon(let path, let theirs, let ours):
            "Nothing in \(path) can be compared with: it holds \(Self.list(theirs)), and what is measured now is "
                + "\(Self.list(ours)). Measure the same sizes, rates, contents and bit rate."
        case .unusableRecording(let path, let reason):
            "The recording \(path) can't be measured with: \(reason). This makes one that can: "
                + "`ffmpeg -i INPUT -pix_fmt yuv420p OUTPUT.y4m`."
        }
    }

    private static func quote(_ words: String) -> String { words.isEmpty ? "" : " It said last:\n\(words)" }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(4).joined(separator: ", ")
        return names.count > 4 ? shown + " and \(names.count - 4) more" : shown
    }
}
