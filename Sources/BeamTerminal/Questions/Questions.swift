extension TerminalQuestions {
    /// The text of a question, and how to interpret a line.
    public struct Question: Sendable {
        public var words: String
        /// What is said instead in the background: a sentence.
        public var summary: String?
        /// Enter alone is an answer, not a wish to read the question again; so is Escape.
        public var takesEnter: Bool
        /// Called on the reading thread, under no lock.
        public var read: @Sendable (_ line: String) -> Reading

        public init(
            words: String, summary: String? = nil, takesEnter: Bool = false,
            read: @escaping @Sendable (_ line: String) -> Reading
        ) {
            (self.words, self.summary, self.takesEnter, self.read) = (words, summary, takesEnter, read)
        }
    }

    public enum Reading: Sendable {
        /// An answer; the action is called if it counts.
        case answer(@Sendable () -> Void)
        /// No answer. The question stays open, and this text is printed; nil: the question is printed again.
        case unclear(String?)
    }
}

/// Questions of the common kinds.
extension TerminalQuestions.Question {
    /// Answered by y or n.
    public static func yesNo(
        _ words: String, summary: String? = nil, _ answer: @escaping @Sendable (Bool) -> Void
    ) -> Self {
        Self(words: words, summary: summary) { line in
            switch line.filter({ !$0.isWhitespace }).lowercased() {
            case "y", "yes": .answer { answer(true) }
            case "n", "no": .answer { answer(false) }
            default: .unclear("Please type y (yes) or n (no). Enter alone repeats the question.")
            }
        }
    }

    /// Answered by a number from 1 to `count`; `pick` gets it counted from 0.
    ///
    /// - Parameter takesNone: Enter alone, or Escape, is an answer, too.
    public static func number(
        _ words: String, of count: Int, takesNone: Bool = false, _ pick: @escaping @Sendable (Int) -> Void
    ) -> Self {
        Self(words: words, takesEnter: takesNone) { line in
            let digits = line.filter { !$0.isWhitespace }
            if digits.isEmpty { return .answer {} }
            guard let number = Int(digits), (1...count).contains(number) else {
                return .unclear(takesNone ? "Type one of the numbers, or Enter alone." : "Type one of the numbers.")
            }
            return .answer { pick(number - 1) }
        }
    }
}
