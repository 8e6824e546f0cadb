import Synchronization

/// Asks the person at the terminal for several hosts, one question at a time: a host's question waits until the one before
/// was answered or withdrawn. A host has one question at a time; a new one takes the place of its last.
public final class QuestionDesk: Sendable {
    private struct Waiting {
        var place: Int
        var question: TerminalQuestions.Question
    }

    private struct State {
        var places = 0
        /// Whose question is open.
        var open: Int?
        var waiting: [Waiting] = []
        var onEnd: [Int: @Sendable () -> Void] = [:]
    }

    private let terminal: TerminalQuestions
    private let state = Mutex(State())

    public convenience init(_ console: Console, programs: ProgramInput?) {
        self.init(TerminalQuestions(console, programs: programs))
    }

    public init(_ terminal: TerminalQuestions) {
        self.terminal = terminal
        terminal.onEnd { [weak self] in self?.inputEnded() }
    }

    public func addPlace() -> Int {
        state.withLock { state in
            state.places += 1
            return state.places
        }
    }

    /// `action` is called on the reading thread when standard input has ended, after which nobody can answer.
    public func onEnd(_ place: Int, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onEnd[place] = action }
    }

    /// Reads another program's lines from now on, if there is one.
    public func readPrograms() { terminal.readPrograms() }

    /// Asks now, or in turn. False: standard input has ended, and nobody can answer.
    public func ask(_ question: TerminalQuestions.Question, at place: Int, isRepeated: Bool) -> Bool {
        let isTurn = state.withLock { state in
            guard state.open == nil || state.open == place else {
                state.waiting.removeAll { $0.place == place }
                state.waiting.append(Waiting(place: place, question: question))
                return false
            }
            state.open = place
            return true
        }
        guard isTurn else { return true }
        return terminal.ask(taking(question, at: place), isRepeated: isRepeated)
    }

    /// That host has nothing to ask any more.
    public func withdraw(_ place: Int) {
        let isOpen = state.withLock { state in
            state.waiting.removeAll { $0.place == place }
            guard state.open == place else { return false }
            state.open = nil
            return true
        }
        guard isOpen else { return }
        terminal.withdraw()
        askNext()
    }

    /// The question; its answer lets the next host ask.
    private func taking(_ question: TerminalQuestions.Question, at place: Int) -> TerminalQuestions.Question {
        var taking = question
        taking.read = { [self] line in
            let reading = question.read(line)
            guard case .answer(let action) = reading else { return reading }
            return .answer { [self] in
                state.withLock { if $0.open == place { $0.open = nil } }
                action()
                askNext()
            }
        }
        return taking
    }

    private func askNext() {
        let next = state.withLock { state -> Waiting? in
            guard state.open == nil, !state.waiting.isEmpty else { return nil }
            let next = state.waiting.removeFirst()
            state.open = next.place
            return next
        }
        guard let next, !terminal.ask(taking(next.question, at: next.place)) else { return }
        inputEnded()
    }

    private func inputEnded() {
        let actions = state.withLock { state in
            (state.open, state.waiting) = (nil, [])
            return state.onEnd.values
        }
        for action in actions { action() }
    }
}
