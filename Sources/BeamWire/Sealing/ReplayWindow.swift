/// The counters that have arrived: a sliding window over the newest 8192, as a ring of bits (RFC 6479).
///
/// A counter is 64 bits and never wraps around. Counters older than the window are refused.
struct ReplayWindow: Sendable {
    enum Verdict: Hashable, Sendable {
        /// Greater than every one before.
        case newest
        /// New, but a greater one has arrived before.
        case late
        case replayed
        case tooOld
    }

    /// The window's width in counters, the newest included. Older datagrams could be replays.
    static let width: UInt64 = 8192

    /// One word more than the width needs, because moving ahead clears whole words (RFC 6479, 2).
    private static let wordCount = width / 64 + 1

    /// Nil until the first one.
    private(set) var newest: UInt64?
    private var words = [UInt64](repeating: 0, count: Int(wordCount))

    /// What `insert` would return. Used before the datagram's counter is authenticated: nothing changes.
    func verdict(on counter: UInt64) -> Verdict {
        guard let newest, counter <= newest else { return .newest }
        guard newest - counter < Self.width else { return .tooOld }
        return words[Self.word(of: counter)] & Self.bit(of: counter) == 0 ? .late : .replayed
    }

    /// Inserts the counter of an authentic datagram. A refused one changes nothing.
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

    /// Clears the words that the window moves onto.
    private mutating func clear(upTo counter: UInt64) {
        guard let newest else { return }
        let blocks = min(counter / 64 - newest / 64, Self.wordCount)
        // Counted backwards from the counter's block: block numbers ahead of it could overflow.
        for back in 0..<blocks { words[Self.word(ofBlock: counter / 64 - back)] = 0 }
    }

    private static func word(of counter: UInt64) -> Int { word(ofBlock: counter / 64) }
    private static func word(ofBlock block: UInt64) -> Int { Int(block % wordCount) }
    private static func bit(of counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
