import BeamProtocol
import Foundation
import Synchronization

/// Asks the person at the terminal about one viewer after the other.
///
/// A viewer of version 2 is asked about twice: whether to compare digits with it, and when both screens show some, whether they are the
/// same. Nothing that was typed before a question stood there answers it, nor what was typed so soon after another one stood there that
/// it may have been meant for that: else a visitor that goes away, or comes, at the right moment would get somebody else's answer.
final class PairingPrompt: Sendable {
    private enum Subject {
        /// An older app, which shows this code.
        case code(PairingCode)
        /// Whether to compare digits.
        case comparing
        /// The person has agreed, and the digits are on their way.
        case waitingForDigits
        case digits(PairingCode)
    }

    private struct Question {
        var connection: ConnectionID
        var subject: Subject
        var visitor: Visitor
    }

    private struct State {
        /// The first is the one that is being asked.
        var questions: [Question] = []
        /// Counts what was put before the person.
        var shown = 0
        /// The last of those has gone out to the terminal: what is typed from now on answers it.
        var isOpen = false
        /// When another one stood in its place last: answered, or withdrawn.
        var changed: ContinuousClock.Instant?
        /// Until when an answer may have been meant for that one.
        var mistakableUntil: ContinuousClock.Instant?
        var decide: (@Sendable (ConnectionID, Bool) -> Void)?
        var isAtEnd = false

        /// The question that stands there, if an answer that comes now may have been meant for the one before.
        mutating func mistakable() -> Question? {
            guard let until = mistakableUntil, .now < until else { return nil }
            // Whoever goes on typing hasn't noticed yet.
            changed = .now
            return questions.first
        }
    }

    /// How long a hand that is about to answer needs to notice that the question has changed.
    private static let noticing = Duration.seconds(1)

    private let state = Mutex(State())
    private let console: Console
    private let input = TerminalInput()

    init(_ console: Console) { self.console = console }

    /// Where the answers go.
    func start(_ decide: @escaping @Sendable (ConnectionID, Bool) -> Void) {
        let waiting = state.withLock { state in
            state.decide = decide
            return state.questions.first
        }
        if let waiting { show(waiting) }
    }

    /// Whether an older app's viewer, which shows `code`, may come in.
    func ask(_ connection: ConnectionID, code: PairingCode, from visitor: Visitor) {
        ask(Question(connection: connection, subject: .code(code), visitor: visitor))
    }

    /// Whether to compare digits with a viewer.
    func askToCompare(_ connection: ConnectionID, from visitor: Visitor) {
        ask(Question(connection: connection, subject: .comparing, visitor: visitor))
    }

    /// The viewer that the person has agreed to compare with shows these digits.
    func compare(_ connection: ConnectionID, digits: PairingCode) {
        let question = state.withLock { state -> Question? in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else { return nil }
            state.questions[index].subject = .digits(digits)
            if index == 0 { state.changed = .now }
            return index == 0 ? state.questions[index] : nil
        }
        if let question { show(question) }
    }

    func withdraw(_ connection: ConnectionID) {
        let (gone, next) = state.withLock { state -> (Question?, Question?) in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else {
                return (nil, nil)
            }
            let question = state.questions.remove(at: index)
            if index == 0 { state.changed = .now }
            // Of those that wait behind another nobody has heard.
            return index == 0 ? (question, state.questions.first) : (nil, nil)
        }
        if let gone { console.say("\(gone.visitor) doesn't ask any more.") }
        if let next { show(next) }
    }

    // MARK: Asking

    private func ask(_ question: Question) {
        let (isFirst, isAtEnd, decide) = state.withLock { state in
            if !state.isAtEnd { state.questions.append(question) }
            return (state.questions.count == 1, state.isAtEnd, state.decide)
        }
        if isAtEnd {
            console.say(
                "\(question.visitor) asks to watch, and is refused: standard input has ended, nobody can answer.")
            decide?(question.connection, false)
        } else if isFirst {
            show(question)
        }
    }

    private func show(_ question: Question) {
        let number = state.withLock { state in
            state.shown += 1
            state.isOpen = false
            return state.shown
        }
        console.say(Self.words(question)) { [self] in open(number) }
        input.start(onLine: { [self] in answer($0) }, onEnd: { [self] in end() })
    }

    /// The words are about to stand in the terminal, which may have taken a while.
    private func open(_ number: Int) {
        input.discardTyped()
        state.withLock { state in
            guard state.shown == number else { return }
            state.isOpen = true
            let now = ContinuousClock.now
            let hasJustChanged = state.changed.map { now - $0 < Self.noticing } ?? false
            state.mistakableUntil = hasJustChanged ? now + Self.noticing : nil
        }
    }

    /// The name stands on a line of its own, which this program begins, so that no name can look like another question.
    private static func words(_ question: Question) -> String {
        var who = "    \(question.visitor)"
        if question.visitor.isNamesake { who += "\n    Not the device of that name that is known here: another one." }
        return switch question.subject {
        case .code(let code):
            "Somebody asks to watch with an older app, unencrypted:\n\(who)\nDoes it show the digits \(code.spaced)? [y/n]"
        case .comparing, .waitingForDigits:
            "Somebody asks to watch:\n\(who)\nShall both screens show digits to compare? [y/n]"
        case .digits(let digits):
            "Both screens show digits now, this one: \(digits.spaced)\n\(who)\nDoes that one show the same? [y/n]"
        }
    }

    // MARK: Answers

    private func answer(_ line: String) {
        guard state.withLock({ $0.isOpen }) else { return }
        let accept: Bool
        switch line.trimmingCharacters(in: .whitespaces).lowercased() {
        case "y", "yes": accept = true
        case "n", "no": accept = false
        default:
            if let question = state.withLock({ $0.questions.first }) { show(question) }
            return
        }
        if let question = state.withLock({ $0.mistakable() }) {
            console.say("The question has just changed. Please answer this one:")
            return show(question)
        }
        answerFirst(accept)
    }

    private func answerFirst(_ accept: Bool) {
        let (answered, next) = state.withLock { state -> (Question?, Question?) in
            guard let first = state.questions.first, state.isOpen else { return (nil, nil) }
            state.isOpen = false
            state.changed = .now
            if accept, case .comparing = first.subject {
                // It stays in its place until the digits are there.
                state.questions[0].subject = .waitingForDigits
                return (first, nil)
            }
            state.questions.removeFirst()
            return (first, state.questions.first)
        }
        guard let answered else { return }
        state.withLock { $0.decide }?(answered.connection, accept)
        if let next { show(next) }
    }

    /// Standard input has ended: nobody can answer.
    private func end() {
        let (unanswered, decide) = state.withLock { state in
            state.isAtEnd = true
            defer { state.questions = [] }
            return (state.questions, state.decide)
        }
        for question in unanswered { decide?(question.connection, false) }
    }
}
