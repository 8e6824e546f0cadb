import BeamWire

/// What the viewer is doing, in words for the person: the same in the window and in the terminal.
public struct ViewerAnnouncement: Sendable, Equatable {
    /// One short sentence, without a full stop.
    public var headline: String
    /// More about it, or what to do next, in whole sentences.
    public var detail: String?
    /// Digits that the person at the host compares with the ones there.
    public var digits: PairingCode?
    /// The host's code has to be typed.
    public var question: CodePrompt?
    /// The host has refused, or this viewer has: nothing more happens.
    public var isFinal = false
    /// The window offers to try again.
    public var isAnsweredInWindow = false
    /// There is no picture, and nothing is wrong: it is on its way, or nothing is shared.
    public var isWithoutFault = false

    /// The host has paused: its last picture is there, or about to come.
    public var isPause = false

    /// A question for the host's code.
    public struct CodePrompt: Sendable, Equatable {
        /// What was wrong with the last try.
        public var problem: String?
        /// The person at the host can be asked instead.
        public var mayAsk = false
        /// The person at the host is being asked. The code can still be typed.
        public var isAsking = false
        /// The code was typed and is being checked.
        public var isBeingChecked = false
    }

    public init(
        headline: String, detail: String? = nil, digits: PairingCode? = nil, question: CodePrompt? = nil,
        isFinal: Bool = false
    ) {
        self.headline = headline
        self.detail = detail
        self.digits = digits
        self.question = question
        self.isFinal = isFinal
    }

    /// All of it in one line.
    public var sentence: String {
        let first = headline + (digits.map { ": \($0.spaced)" } ?? "")
        let parts = [question?.problem, Self.ended(first), detail].compactMap { $0 }
        return parts.joined(separator: " ")
    }

    static func ended(_ text: String) -> String {
        text.last.map { ".!?…:".contains($0) } ?? true ? text : text + "."
    }

    /// A clause as a sentence: `it isn't there` becomes `It isn't there.` An address at the beginning stays as it is.
    static func sentence(_ clause: String) -> String {
        let isAddress = clause.prefix { $0 != " " }.contains { ".:".contains($0) }
        return ended(isAddress ? clause : clause.prefix(1).uppercased() + clause.dropFirst())
    }
}
