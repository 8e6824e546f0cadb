import Glibc
import Synchronization

/// Asks the person at the terminal: one question at a time on standard error, its answer a line on standard input.
///
/// Nothing waits for the person: questions are asked from any thread, and answered on the thread that reads. What was typed before a
/// question stood there is no answer to it. What was typed within a second after another question stood there is none either, for it
/// may have been meant for that one: else a viewer that goes away, or comes, at the right moment would get somebody else's answer.
final class TerminalQuestions: Sendable {
    /// Words, and what a line means to them.
    struct Question: Sendable {
        var words: String
        /// Called on the reading thread, under no lock.
        var read: @Sendable (_ line: String) -> Reading
    }

    enum Reading: Sendable {
        /// An answer, and what follows from it if it counts.
        case answer(@Sendable () -> Void)
        /// No answer: the question stays, and this is said; nil: the question is asked again.
        case unclear(String?)
    }

    private struct State {
        var question: Question?
        /// Counts what was put before the person.
        var shown = 0
        /// The question has gone out to the terminal: what is typed from now on answers it.
        var isOpen = false
        /// When a question was last answered or withdrawn, or typed at by mistake.
        var changed: ContinuousClock.Instant?
        /// Until when an answer may have been meant for the question before.
        var mistakableUntil: ContinuousClock.Instant?
        var hasEnded = false
        var onEnd: @Sendable () -> Void = {}

        mutating func close() {
            question = nil
            isOpen = false
            changed = .now
        }
    }

    /// How long a hand that is about to answer needs to notice that the question has changed.
    private static let noticing = Duration.seconds(1)

    private let state = Mutex(State())
    private let console: Console
    private let input = TerminalInput()

    init(_ console: Console) { self.console = console }

    /// Standard input is a terminal: somebody may type.
    static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }
    /// Somebody sits at a terminal, and sees what is said.
    static var hasPerson: Bool { hasKeyboard && isatty(STDERR_FILENO) == 1 }

    /// What to do when standard input ends: then nobody can answer any more. Called on the reading thread.
    func onEnd(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onEnd = action } }

    /// Asks, in the place of what is being asked. False: standard input has ended, and nobody can answer.
    ///
    /// - Parameter isRepeated: what is asked is what was asked last, so that no answer can be meant for another question.
    @discardableResult
    func ask(_ question: Question, isRepeated: Bool = false) -> Bool {
        let mayAsk = state.withLock { state in
            guard !state.hasEnded else { return false }
            if state.question != nil { state.close() }
            if isRepeated { state.changed = nil }
            state.question = question
            return true
        }
        if mayAsk { show() }
        return mayAsk
    }

    /// Nobody is asked any more, and whatever comes next is another question.
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

    /// The words are about to stand in the terminal, which may have taken a while.
    private func open(_ number: Int) {
        input.discardTyped()
        state.withLock { state in
            guard state.shown == number, state.question != nil else { return }
            state.isOpen = true
            let now = ContinuousClock.now
            let hasJustChanged = state.changed.map { now - $0 < Self.noticing } ?? false
            state.mistakableUntil = hasJustChanged ? now + Self.noticing : nil
        }
    }

    private func take(_ line: String) {
        let asked = state.withLock { state in state.isOpen ? (question: state.question, number: state.shown) : nil }
        guard let asked, let question = asked.question else { return }
        switch question.read(line) {
        case .unclear(let complaint?): console.say(complaint)
        case .unclear(nil): show()
        case .answer(let action):
            let isMistakable = state.withLock { state -> Bool? in
                // It may have been withdrawn meanwhile.
                guard state.isOpen, state.shown == asked.number else { return nil }
                if let until = state.mistakableUntil, .now < until {
                    // Whoever goes on typing hasn't noticed yet.
                    state.changed = .now
                    return true
                }
                state.close()
                return false
            }
            switch isMistakable {
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
