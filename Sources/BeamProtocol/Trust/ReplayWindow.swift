/// Which counters have come: a sliding window over the newest 8192, as a ring of bits (RFC 6479).
///
/// A counter is 64 bits and never wraps around. What is older than the window is refused, known or not.
struct ReplayWindow: Sendable {
    enum Verdict: Hashable, Sendable {
        /// Greater than every one before.
        case newest
        /// New, but some that are greater have come before it.
        case late
        case replayed
        case tooOld
    }

    /// How far behind the newest counter one may be, in counters, the newest included.
    static let width: UInt64 = 8192

    /// One word more than the width needs, because moving ahead clears whole words (RFC 6479, 2).
    private static let wordCount = width / 64 + 1

    /// Nil until the first one.
    private(set) var newest: UInt64?
    private var words = [UInt64](repeating: 0, count: Int(wordCount))

    /// What `insert` would answer. For a datagram whose counter isn't authenticated yet: nothing changes.
    func verdict(on counter: UInt64) -> Verdict {
        guard let newest, counter <= newest else { return .newest }
        guard newest - counter < Self.width else { return .tooOld }
        return words[Self.word(of: counter)] & Self.bit(of: counter) == 0 ? .late : .replayed
    }

    /// Takes in the counter of an authentic datagram; what is to be refused changes nothing.
    mutating func insert(_ counter: UInt64) -> Verdict {
        let verdict = verdict(on: counter)
        switch verdict {
        case .newest:
            clear(upTo: counter)
            newest = counter
        case .late:
            break
        case .replayed, .tooOld:
            return verdict
        }
        words[Self.word(of: counter)] |= Self.bit(of: counter)
        return verdict
    }

    /// Empties the words that the window is about to slide onto.
    private mutating func clear(upTo counter: UInt64) {
        guard let newest else { return }
        let blocks = min(counter / 64 - newest / 64, Self.wordCount)
        // Counted back from the counter's block, because block numbers ahead of it needn't exist.
        for back in 0..<blocks { words[Self.word(ofBlock: counter / 64 - back)] = 0 }
    }

    private static func word(of counter: UInt64) -> Int { word(ofBlock: counter / 64) }
    private static func word(ofBlock block: UInt64) -> Int { Int(block % wordCount) }
    private static func bit(of counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
