extension TerminalQuestions {
    /// What keys do while no question is open. `?` and `h` list them.
    public struct Commands: Sendable {
        /// `n`: the person writes a note.
        public var note: (@Sendable (String) -> Void)?
        /// `p`.
        public var pause: (@Sendable () -> Void)?
        /// In a room, `s`: to share, or to end that.
        public var share: (@Sendable () -> Void)?
        /// In a room, `w`: who is here?
        public var people: (@Sendable () -> Void)?
        /// At a host, or a member of a room, that lets in browsers, `w`: where they come.
        public var web: (@Sendable () -> Void)?
        /// `x`: to put somebody out of the room, or to send a viewer away.
        public var putOut: (@Sendable () -> Void)?
        /// `kick NAME`: to send a viewer away, or in a room a browser.
        public var kick: (@Sendable (String) -> Void)?
        /// `c`: a new code takes the place of the one that is shown.
        public var newCode: (@Sendable () -> Void)?
        /// In a room, `j`: to join the other room of its name.
        public var join: (@Sendable () -> Void)?
        /// In a room, `r`: to show a screen through another member, which was asked.
        public var relay: (@Sendable () -> Void)?

        public init() {}
    }

    /// What a person writes without having been asked.
    enum Writing {
        case note
        /// `kick NAME`, whose first letter was the key.
        case kick

        /// Stands before what is typed.
        var mark: String {
            switch self {
            case .note: "Note: "
            case .kick: "k"
            }
        }

        /// What is to be finished before a question.
        var name: String {
            switch self {
            case .note: "note"
            case .kick: "command"
            }
        }

        var hint: String {
            switch self {
            case .note: "Enter sends the note, Esc drops it."
            case .kick: "kick NAME sends a viewer away, Esc drops it."
            }
        }
    }
}

extension TerminalQuestions.Commands {
    /// What the keys do, in the order in which they are listed.
    var keys: [StatusLine.Key] {
        let all: [(isThere: Bool, key: Character, name: String, words: String)] = [
            (share != nil, "s", "share", "shares your screen, or ends that"),
            (note != nil, "n", "note", "writes a note to everybody"),
            (pause != nil, "p", "pause", "pauses what you share, and goes on"),
            (
                people != nil, "w", "who",
                "says who is here" + (web == nil ? "" : "; and the address for browsers, for a phone's camera, too")
            ),
            (
                web != nil && people == nil, "w", "browsers",
                "shows the address for browsers, for a phone's camera, too"
            ),
            (
                putOut != nil, "x", people != nil ? "put out" : "send away",
                people == nil
                    ? "sends a viewer away; so does kick NAME"
                    : "puts somebody out" + (kick == nil ? "" : ", or sends a browser away; so does kick NAME")
            ),
            (newCode != nil, "c", "new code", "makes a new code in place of the one that is shown"),
        ]
        return all.filter(\.isThere).map { StatusLine.Key(key: $0.key, name: $0.name, words: $0.words) }
    }
}
