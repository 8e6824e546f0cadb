import BeamWire

/// The last line of the terminal while something is shared: what it is called, the code, who is there, what keys do.
public struct StatusLine: Equatable {
    /// What a key does.
    public struct Key: Equatable, Sendable {
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

    public init(name: String, code: PairingCode?, facts: [String], keys: [Key]) {
        (self.name, self.code, self.facts, self.keys) = (name, code, facts, keys)
    }

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
