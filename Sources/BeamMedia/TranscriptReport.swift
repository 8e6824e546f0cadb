/// What was written into a transcript's file.
public struct TranscriptReport: Sendable, Hashable {
    public var path: String
    /// Lines or cues. Without any there is no file.
    public var entries: Int

    public init(path: String, entries: Int) {
        self.path = path
        self.entries = entries
    }
}
