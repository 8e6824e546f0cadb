import Glibc
import Synchronization

/// Asks the person at the terminal: one question at a time on standard error. The answer is a line on standard input.
///
/// No call waits for the person: questions are asked from any thread, and answered on the reading thread. Text that was
/// typed before a question was shown doesn't answer it. Nor does text that was typed within a second after another
/// question was shown, because it may be meant for that one: otherwise a viewer that comes or goes at the right moment
/// would get somebody else's answer.
final class TerminalQuestions: Sendable {
    /// The text of a question, and how to interpret a line.
    struct Question: Sendable {
        var words: String
        /// Called on the reading thread, under no lock.
        var read: @Sendable (_ line: String) -> Reading
    }

    enum Reading: Sendable {
        /// An answer; the action is called if it counts.
        case answer(@Sendable () -> Void)
        /// No answer. The question stays open, and this text is printed; nil: the question is printed again.
        case unclear(String?)
    }

    private struct State {
        var question: Question?
        /// Number of questions shown so far.
        var shown = 0
        /// The question is being written to the terminal: lines typed from now on answer it.
        var isOpen = false
        /// When a question was last answered or withdrawn, or got an ambiguous answer.
        var lastChange: ContinuousClock.Instant?
        /// Until then an answer may be meant for the previous question.
        var ambiguousUntil: ContinuousClock.Instant?
        var hasEnded = false
        var onEnd: @Sendable () -> Void = {}

        mutating func close() {
            question = nil
            isOpen = false
            lastChange = .now
        }
    }

    /// How long a person who is about to answer needs to notice that the question has changed.
    private static let reactionTime = Duration.seconds(1)

    private let state = Mutex(State())
    private let console: Console
    private let input = TerminalInput()

    init(_ console: Console) { self.console = console }

    /// Standard input is a terminal: somebody may type.
    static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }
    /// Standard input and standard error are a terminal: a person can read questions and answer them.
    static var hasPerson: Bool { hasKeyboard && isatty(STDERR_FILENO) == 1 }

    /// `action` is called on the reading thread when standard input ends, after which nobody can answer.
    func onEnd(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onEnd = action } }

    /// Asks, and replaces the open question. False: standard input has ended, and nobody can answer.
    ///
    /// - Parameter isRepeated: this is the last question again, so that an early answer isn't ambiguous.
    @discardableResult
    func ask(_ question: Question, isRepeated: Bool = false) -> Bool {
        let mayAsk = state.withLock { state in
            guard !state.hasEnded else { return false }
            if state.question != nil { state.close() }
            if isRepeated { state.lastChange = nil }
            state.question = question
            return true
        }
        if mayAsk { show() }
        return mayAsk
    }

    /// Closes the open question. The next one is a different question.
    func withdraw() { state.withLock { $0.close() } }

    private func show() {
        let next = state.withLock { state -> (words: String, number: Int)? in
            guard let question = state.question else { return nil }
            state.shown += 1
            state.isOpen = false
            return (question.words, state.shown)
        }
        guard let (words, number) = next else { return }
        console.say(words) { [self] in open(number) }
        input.start(onLine: { [self] in take($0) }, onEnd: { [self] in end() })
    }

    /// The question is about to be written to the terminal, perhaps some time after it was asked.
    private func open(_ number: Int) {
        input.discardTyped()
        state.withLock { state in
            guard state.shown == number, state.question != nil else { return }
            state.isOpen = true
            let now = ContinuousClock.now
            let hasJustChanged = state.lastChange.map { now - $0 < Self.reactionTime } ?? false
            state.ambiguousUntil = hasJustChanged ? now + Self.reactionTime : nil
        }
    }

    private func take(_ line: String) {
        let asked = state.withLock { state in state.isOpen ? (question: state.question, number: state.shown) : nil }
        guard let asked, let question = asked.question else { return }
        switch question.read(line) {
        case .unclear(let complaint?): console.say(complaint)
        case .unclear(nil): show()
        case .answer(let action):
            let isAmbiguous = state.withLock { state -> Bool? in
                // The question may have been withdrawn meanwhile.
                guard state.isOpen, state.shown == asked.number else { return nil }
                if let until = state.ambiguousUntil, .now < until {
                    // The person hasn't noticed the change yet: wait for another reaction time.
                    state.lastChange = .now
                    return true
                }
                state.close()
                return false
            }
            switch isAmbiguous {
            case nil: break
            case true?:
                console.say("The question has just changed. Please answer this one:")
                show()
            case false?: action()
            }
        }
    }

    private func end() {
        let action = state.withLock { state in
            state.hasEnded = true
            state.close()
            return state.onEnd
        }
        action()
    }
}
