import BeamProtocol

/// The last line of the terminal while something is shared: what it is called, the code, who is there, what keys do.
struct StatusLine: Equatable {
    /// What a key does.
    struct Key: Equatable, Sendable {
        var key: Character
        /// In a word: `note`.
        var name: String
        /// A verb and what it is about: `writes a note to everybody`.
        var words: String
    }

    /// Without quotation marks.
    var name: String
    /// Nil: none is shown.
    var code: PairingCode?
    /// `3 watch`, `paused`.
    var facts: [String]
    /// Empty: keys do nothing.
    var keys: [Key]

    /// In one line.
    ///
    /// - Parameter columns: of the terminal; 0: not known. What doesn't fit is left out in whole parts: first what the keys
    ///   do, then which there are, then the facts from the last one on.
    func text(columns: Int = 0) -> String {
        let start = ["“\(PeerText.name(name))”"] + (code.map { ["code \($0.spaced)"] } ?? [])
        let list = keys.map { "\($0.key) \($0.name)" } + ["? keys"]
        let short = keys.map { "\($0.key)" } + ["?"]
        let endings =
            keys.isEmpty ? [] : [list, short].map { "keys: " + $0.joined(separator: ", ") } + ["? keys"]
        var texts = endings.map { start + facts + [$0] }
        texts += (0...facts.count).reversed().map { start + facts.prefix($0) }
        let lines = texts.map { $0.joined(separator: " · ") }
        return lines.first { columns == 0 || PeerText.columns($0) < columns } ?? lines[lines.count - 1]
    }

    /// How many watch.
    static func audience(_ count: Int) -> String {
        switch count {
        case 0: "nobody watches"
        case 1: "1 watches"
        default: "\(count) watch"
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
            (people != nil, "w", "who", "says who is here"),
            (
                putOut != nil, "x", kick == nil ? "put out" : "send away",
                kick == nil ? "puts somebody out" : "sends a viewer away; so does kick NAME"
            ),
            (newCode != nil, "c", "new code", "makes a new code in place of the one that is shown"),
        ]
        return all.filter(\.isThere).map { StatusLine.Key(key: $0.key, name: $0.name, words: $0.words) }
    }
}
