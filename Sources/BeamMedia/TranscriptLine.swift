/// A line of a session's transcript: a caption, a note, or an alert.
public struct TranscriptLine: Sendable, Hashable {
    public enum Kind: String, Sendable, CaseIterable {
        /// What was said, by a recogniser or a captioner.
        case caption
        /// What a person wrote beside the picture.
        case note
        /// What happened to the share: it was paused, the host's battery is low.
        case alert
    }

    public var kind: Kind
    /// The name of the machine that it came from.
    public var author: String
    /// Who said a caption; nil: the captioner didn't tell.
    public var speaker: String?
    /// May have several lines, separated by line feeds. It has no other control or bidirectional characters.
    public var text: String
    /// From the beginning of the session, by the host's clock.
    public var time: Duration

    public init(kind: Kind, author: String, speaker: String? = nil, text: String, time: Duration) {
        self.kind = kind
        self.author = author
        self.speaker = speaker
        self.text = text
        self.time = time
    }
}
