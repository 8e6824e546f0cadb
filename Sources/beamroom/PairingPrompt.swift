import BeamProtocol
import Foundation
import Synchronization

/// Asks the person at the terminal about one viewer after the other.
final class PairingPrompt: Sendable {
    private struct Question {
        var connection: ConnectionID
        var code: PairingCode
        var visitor: Visitor
    }

    private struct State {
        /// The first is the one that is being asked.
        var questions: [Question] = []
        var decide: (@Sendable (ConnectionID, Bool) -> Void)?
        var isReading = false
        var isAtEnd = false
    }

    private let state = Mutex(State())
    private let console: Console

    init(_ console: Console) { self.console = console }

    /// Where the answers go.
    func start(_ decide: @escaping @Sendable (ConnectionID, Bool) -> Void) {
        let waiting = state.withLock { state in
            state.decide = decide
            return state.questions.first
        }
        if let waiting { show(waiting) }
    }

    func ask(_ connection: ConnectionID, code: PairingCode, from visitor: Visitor) {
        let question = Question(connection: connection, code: code, visitor: visitor)
        let (isFirst, isAtEnd) = state.withLock { state in
            if !state.isAtEnd { state.questions.append(question) }
            return (state.questions.count == 1, state.isAtEnd)
        }
        if isAtEnd {
            console.say("\(visitor) asks to watch, and is refused: standard input has ended, nobody can answer.")
            state.withLock { $0.decide }?(connection, false)
        } else if isFirst {
            show(question)
        }
    }

    func withdraw(_ connection: ConnectionID) {
        let next = state.withLock { state -> Question? in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else { return nil }
            state.questions.remove(at: index)
            return index == 0 ? state.questions.first : nil
        }
        if let next { show(next) }
    }

    private func show(_ question: Question) {
        console.say("\(question.visitor) asks to watch. Does it show the digits \(question.code.spaced)? [y/n]")
        let mustStart = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        // Reading can't be broken off: the thread is left behind when the program ends.
        if mustStart { Thread.detachNewThread { [self] in readAnswers() } }
    }

    private func readAnswers() {
        while let line = readLine() {
            let answer = line.trimmingCharacters(in: .whitespaces).lowercased()
            let accept: Bool
            switch answer {
            case "y", "yes": accept = true
            case "n", "no", "": accept = false
            default:
                console.say("Please answer y or n.")
                continue
            }
            answerFirst(accept)
        }
        let unanswered = state.withLock { state in
            state.isAtEnd = true
            defer { state.questions = [] }
            return state.questions
        }
        let decide = state.withLock { $0.decide }
        for question in unanswered { decide?(question.connection, false) }
    }

    private func answerFirst(_ accept: Bool) {
        let (answered, next, decide) = state.withLock { state in
            let answered = state.questions.isEmpty ? nil : state.questions.removeFirst()
            return (answered, state.questions.first, state.decide)
        }
        guard let answered else { return }
        decide?(answered.connection, accept)
        if let next { show(next) }
    }
}
