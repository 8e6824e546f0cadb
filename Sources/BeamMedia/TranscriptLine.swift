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
    /// The speaker is only what the author says.
    public var isClaim: Bool
    /// May have several lines, separated by line feeds. It has no other control or bidirectional characters.
    public var text: String
    /// From the beginning of the session, by the host's clock.
    public var time: Duration

    public init(kind: Kind, author: String, speaker: String? = nil, isClaim: Bool = false, text: String, time: Duration)
    {
        self.kind = kind
        self.author = author
        self.speaker = speaker
        self.isClaim = isClaim
        self.text = text
        self.time = time
    }
    /// The speaker's name as it stands before a caption: the speaker, or `A: “B” says` if only the author, `A`, says
    /// that it is `B`, so that nobody's words look like another's.
    public static func voice(of speaker: String, author: String, isClaim: Bool) -> String {
        let speaker = ShownText.line(speaker)
        let author = ShownText.line(author)
        guard !speaker.isEmpty else { return author }
        return isClaim && speaker != author ? "\(author): “\(speaker)” says" : speaker
    }

    /// Whose words they are, for the beginning of the line; nil for an alert, whose text says it. A caption without a
    /// speaker has its author's name.
    public var voice: String? {
        switch kind {
        case .caption: Self.voice(of: speaker ?? "", author: author, isClaim: isClaim)
        case .note: ShownText.line(author)
        case .alert: nil
        }
    }
}
