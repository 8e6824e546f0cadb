/// Decides which keys are commands, while no line is expected: a key that is pressed alone. What is typed or pasted into
/// this terminal by mistake does nothing.
///
/// The time is passed in.
struct KeyGate {
    /// `ki`, typed alone, begins the command `kick NAME`, which is a line.
    var takesKick: Bool

    enum Outcome: Equatable {
        case command(Character)
        /// Several keys came one after another: they do nothing.
        case burst
    }

    /// A key acts when nothing has followed it for so long, and nothing came before it as shortly. Letters of a word are
    /// typed at intervals of 100 to 300 ms.
    static let pause = Duration.milliseconds(300)
    /// After several keys the line ends, and a key may be a command again, when nothing was typed for so long.
    static let endOfLine = Duration.seconds(1)

    private enum Line: Equatable {
        case empty
        case key(Character)
        /// More than a key: nothing that follows on this line is a command.
        case words
    }

    private var line = Line.empty
    private var last: ContinuousClock.Instant?

    init(takesKick: Bool = false) { self.takesKick = takesKick }

    /// Takes what was typed, byte by byte, without the sequences of arrow and function keys.
    ///
    /// - Returns: whether this byte and the `k` before it begin a line with the command `kick`.
    @discardableResult
    mutating func take(_ byte: UInt8, now: ContinuousClock.Instant) -> Bool {
        if takesKick, line == .key("k"), byte == UInt8(ascii: "i") {
            line = .empty
            return true
        }

        let isAtOnce = last.map { now - $0 < Self.pause } ?? false
        last = now
        let isEnter = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        switch (line, byte) {
        // A key and Enter are one key; Enter alone is none.
        case (.key, _) where isEnter, (.empty, _) where isEnter: break
        case (.empty, 0x20...0x7E) where !isAtOnce: line = .key(Character(Unicode.Scalar(byte)))
        // Control characters alone.
        case (.empty, ..<0x20), (.empty, 0x7F): break
        default: line = .words
        }
        return false
    }

    /// When `outcome` is to be asked for; nil: nothing was typed.
    var deadline: ContinuousClock.Instant? {
        switch line {
        case .empty: nil
        case .key: last.map { $0 + Self.pause }
        case .words: last.map { $0 + Self.endOfLine }
        }
    }

    /// What has become of the keys; nil: nothing yet.
    mutating func outcome(now: ContinuousClock.Instant) -> Outcome? {
        guard let deadline, now >= deadline else { return nil }
        defer { line = .empty }
        return if case .key(let key) = line { .command(key) } else { .burst }
    }
}
