import BeamLog
import BeamSession
import BeamWire
import Foundation
import Synchronization

/// Asks the person at the host about viewers, one at a time; in a room of equals, about newcomers.
///
/// For a viewer of version 2 there are two questions: whether to compare digits with it, and, when both screens show
/// them, whether they are the same. `TerminalQuestions` decides which answers count.
public final class PairingPrompt: DoorPerson {
    private enum Subject {
        /// An older app, which shows this code.
        case code(PairingCode)
        /// A browser.
        case browser
        /// Whether to compare digits.
        case comparing
        /// The person has agreed, and the digits are on their way.
        case waitingForDigits
        case digits(PairingCode)

        /// As a notice asks it; nil: there is nothing to answer.
        var notice: NoticeText.Subject? {
            switch self {
            case .code(let code): .code(code)
            case .browser: .browser
            case .comparing: .comparing
            case .waitingForDigits: nil
            case .digits(let digits): .digits(digits)
            }
        }
    }

    private struct Question {
        var connection: ConnectionID
        var subject: Subject
        var visitor: Visitor

        var digits: PairingCode? { if case .digits(let digits) = subject { digits } else { nil } }
        /// The person has something to answer.
        var isOpen: Bool { if case .waitingForDigits = subject { false } else { true } }
    }

    private struct State {
        /// The first one is being asked.
        var questions: [Question] = []
        /// The one that is shown elsewhere, too.
        var mirrored: (connection: ConnectionID, digits: PairingCode?)?
        var decide: (@Sendable (ConnectionID, Bool) -> Void)?
        /// Others can answer, too.
        var hasOthers: @Sendable () -> Bool = { false }
        /// Between two rooms: nothing is asked until `start`, as the terminal may ask about the next room.
        var isBetweenRooms = false

        /// The question to ask; nil: none, or not yet.
        var next: Question? { decide == nil || isBetweenRooms ? nil : questions.first }

        /// It is the question that is being asked.
        func isAsked(_ index: Int) -> Bool { index == 0 && !isBetweenRooms }
    }

    private let state = Mutex(State())
    private let console: Console
    private let terminal: TerminalQuestions
    /// What they ask for: to `watch`, to `enter`.
    private let wish: String
    /// A window asks the same, or a notice, so that the end of standard input isn't that of the answers.
    private let isAskedElsewhere: Bool
    private let mirror: (any QuestionMirror)?

    /// `programs` takes another program's lines on standard input.
    public convenience init(
        _ console: Console, programs: ProgramInput? = nil, keyboard: Keyboard = .standardInput,
        mirror: (any QuestionMirror)? = nil, isAskedElsewhere: Bool = false
    ) {
        self.init(
            console, TerminalQuestions(console, programs: programs, keyboard: keyboard), wish: "watch", mirror: mirror,
            isAskedElsewhere: isAskedElsewhere)
    }

    /// Asks at a terminal at which something else may be asked before `start`.
    ///
    /// - Parameters:
    ///   - mirror: shows the question that is asked, too, and may answer it.
    ///   - isAskedElsewhere: somebody can answer although nobody is at the terminal.
    public init(
        _ console: Console, _ terminal: TerminalQuestions, wish: String, mirror: (any QuestionMirror)? = nil,
        isAskedElsewhere: Bool = false
    ) {
        (self.mirror, self.isAskedElsewhere) = (mirror, isAskedElsewhere)
        self.console = console
        self.terminal = terminal
        self.wish = wish
    }

    /// This job is in the background: nobody can be asked at present.
    var isInBackground: Bool { terminal.isInBackground }

    /// Keys are commands while nothing is asked.
    public var takesCommands: Bool { terminal.takesCommands }

    /// Those who wait for an answer, in words.
    public var asking: [String] { state.withLock { $0.questions.map(\.visitor.description) } }

    /// What they do; empty: there are none.
    public var keys: [StatusLine.Key] { terminal.keys }

    public func setCommands(_ commands: TerminalQuestions.Commands) { terminal.setCommands(commands) }

    /// In a room: whether other members are asked the same.
    public func setOthers(_ hasOthers: @escaping @Sendable () -> Bool) { state.withLock { $0.hasOthers = hasOthers } }

    /// Begins to ask. Answers go to `decide`.
    public func start(_ decide: @escaping @Sendable (ConnectionID, Bool) -> Void) {
        state.withLock { ($0.decide, $0.isBetweenRooms) = (decide, false) }
        terminal.onEnd { [weak self] in self?.refuseAll() }
        terminal.takeKeyboard()
        askFirst()
    }

    /// Asks whether to let in a version 1 viewer, which shows `code`.
    public func ask(_ connection: ConnectionID, code: PairingCode, from visitor: Visitor) {
        add(Question(connection: connection, subject: .code(code), visitor: visitor))
    }

    /// Asks whether to let a browser watch.
    public func askAboutBrowser(_ connection: ConnectionID, from visitor: Visitor) {
        add(Question(connection: connection, subject: .browser, visitor: visitor))
    }

    /// Asks whether to compare digits with a viewer.
    public func askToCompare(_ connection: ConnectionID, from visitor: Visitor) {
        add(Question(connection: connection, subject: .comparing, visitor: visitor))
    }

    /// The viewer that the person has agreed to compare with shows these digits.
    public func compare(_ connection: ConnectionID, digits: PairingCode) {
        let isFirst = state.withLock { state in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else { return false }
            state.questions[index].subject = .digits(digits)
            return index == 0
        }
        guard isFirst else { return }
        // A new question, so that an answer to the one before doesn't count.
        terminal.withdraw()
        askFirst()
    }

    public func withdraw(_ connection: ConnectionID) {
        let gone = state.withLock { state -> Question? in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else { return nil }
            let question = state.questions.remove(at: index)
            // The person hasn't seen the questions behind the first.
            return state.isAsked(index) ? question : nil
        }
        guard let gone else { return }
        terminal.withdraw()
        console.say("\(gone.visitor) no longer asks to \(wish).")
        askFirst()
    }

    /// Another member of the room, called `name`, has answered first.
    public func taken(_ connection: ConnectionID, by name: String) {
        let (taken, wasFirst) = state.withLock { state -> (Question?, Bool) in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }) else {
                return (nil, false)
            }
            return (state.questions.remove(at: index), state.isAsked(index))
        }
        guard let taken else { return }
        if wasFirst { terminal.withdraw() }
        console.say("“\(name)” has answered \(taken.visitor).")
        if wasFirst { askFirst() }
    }

    /// The room was left: newcomers are sent away by its door. Browsers have a door of their own, and are asked about again
    /// after `start`.
    public func leaveRoom() {
        let wereAsked = state.withLock { state in
            defer {
                state.questions.removeAll { !$0.connection.isBrowser }
                state.isBetweenRooms = true
            }
            return !state.questions.isEmpty && !state.isBetweenRooms
        }
        if wereAsked { terminal.withdraw() }
        mirrorFirst()
    }

    /// Asks the person something else, unless a visitor waits for an answer. A visitor who comes meanwhile takes its
    /// place.
    ///
    /// - Parameter isNext: it follows an answer of the person, who expects it.
    public func ask(_ question: TerminalQuestions.Question, isNext: Bool) {
        guard state.withLock({ $0.questions.isEmpty }) else {
            return console.say("Somebody asks to \(wish): answer that first.")
        }
        _ = terminal.ask(question, isRepeated: isNext)
    }

    /// Takes back what `ask` has asked, unless a visitor's question has taken its place.
    public func withdrawOwn() {
        if state.withLock({ $0.questions.isEmpty }) { terminal.withdraw() }
    }

    // MARK: Asking

    private func add(_ question: Question) {
        let isFirst = state.withLock { state in
            state.questions.append(question)
            return state.questions.count == 1
        }
        if isFirst { askFirst() }
    }

    private func askFirst() {
        mirrorFirst()
        let first = state.withLock(\.next)
        guard let first, let words = words(first) else { return }
        let isAsked = terminal.ask(
            .yesNo(words, summary: "\(first.visitor) asks to \(self.wish(of: first.connection)).") { [self] in
                answer(first, accept: $0)
            })
        if !isAsked { refuseAll() }
    }

    /// The question was answered elsewhere: in a window, or by another member of the room.
    public func answered(_ connection: ConnectionID, accept: Bool) {
        if let settled = settle(connection, accept: accept, if: { _ in true }) { goOn(after: settled) }
    }

    /// A browser at a member of a room watches, and doesn't enter.
    private func wish(of connection: ConnectionID) -> String { connection.isBrowser ? "watch" : wish }

    /// Nil while the person has nothing to answer. The name has a line of its own that begins with spaces, so that no
    /// name can look like a question.
    private func words(_ question: Question) -> String? {
        var who = "    \(question.visitor)"
        if question.visitor.isNamesake { who += "\n    This is not the known device of that name, but another one." }
        return switch question.subject {
        case .code(let code):
            "Somebody asks to \(wish) with an older app, unencrypted:\n\(who)\nDoes it show the digits \(code.spaced)? [y/n]"
        case .browser:
            "Somebody asks to watch in a browser, without the code:\n\(who)\nLet that browser watch? [y/n]"
        case .comparing:
            "Somebody asks to \(wish), without the code:\n\(who)\n"
                + "Let \(question.visitor.name.map { "“\($0)”" } ?? "that device") in? You'll compare digits first. [y/n]"
        case .waitingForDigits: nil
        case .digits(let digits):
            "Digits to compare, not to type: \(digits.spaced)\n\(who)\nDoes it show the same digits? [y/n]"
        }
    }

    // MARK: Elsewhere

    /// Shows the first question elsewhere, or takes back what is shown there.
    private func mirrorFirst() {
        guard let mirror else { return }
        // In the order of the changes: neither call waits.
        state.withLock { state in
            let first = state.next
            let shown = first.flatMap { question in elsewhere(question) }
            let mirrored = shown == nil ? nil : first.map { ($0.connection, $0.digits) }
            guard mirrored?.0 != state.mirrored?.connection || mirrored?.1 != state.mirrored?.digits else { return }
            state.mirrored = mirrored
            if let shown { mirror.show(shown) } else { mirror.hide() }
        }
    }

    private func elsewhere(_ question: Question) -> MirroredQuestion? {
        guard let text = NoticeText(question.visitor, wish: wish(of: question.connection), question.subject.notice)
        else { return nil }
        return MirroredQuestion(title: text.title, text: text.text) { [weak self] accept in
            self?.answeredElsewhere(question, accept: accept)
        }
    }

    // MARK: Answers

    /// What an answer has changed.
    private struct Settled {
        var decide: (@Sendable (ConnectionID, Bool) -> Void)?
        /// It was the question that was asked.
        var wasFirst: Bool
        /// The digits are awaited, and the question stays.
        var isWaiting: Bool
    }

    /// Takes an answer to the open question of a connection. Nil: there is none, or none that is meant: it was answered,
    /// withdrawn, or followed by the digits just before.
    private func settle(_ connection: ConnectionID, accept: Bool, if isMeant: (Question) -> Bool) -> Settled? {
        state.withLock { state in
            guard let index = state.questions.firstIndex(where: { $0.connection == connection }),
                state.questions[index].isOpen || !accept, isMeant(state.questions[index])
            else { return nil }
            let isWaiting = if accept, case .comparing = state.questions[index].subject { true } else { false }
            if isWaiting {
                // It stays in its place until the digits are there.
                state.questions[index].subject = .waitingForDigits
            } else {
                state.questions.remove(at: index)
            }
            return Settled(decide: state.decide, wasFirst: state.isAsked(index), isWaiting: isWaiting)
        }
    }

    /// After an answer that wasn't given at the terminal.
    private func goOn(after settled: Settled) {
        if settled.wasFirst { terminal.withdraw() }
        if settled.wasFirst, !settled.isWaiting { askFirst() } else { mirrorFirst() }
    }

    private func answeredElsewhere(_ question: Question, accept: Bool) {
        let settled = settle(question.connection, accept: accept) { $0.isOpen && $0.digits == question.digits }
        guard let settled else { return }
        goOn(after: settled)
        settled.decide?(question.connection, accept)
    }

    private func answer(_ question: Question, accept: Bool) {
        let settled = settle(question.connection, accept: accept) { $0.isOpen && $0.digits == question.digits }
        guard let settled else { return }
        settled.decide?(question.connection, accept)
        if settled.isWaiting { mirrorFirst() } else { askFirst() }
    }

    /// Standard input has ended: nobody can answer here. What other members are asked, too, is left to them.
    private func refuseAll() {
        guard !isAskedElsewhere else { return }
        let (unanswered, decide, hasOthers) = state.withLock { state in
            defer { state.questions = [] }
            return (state.questions, state.decide, state.hasOthers)
        }
        mirrorFirst()
        for question in unanswered
        where question.connection.isBrowser
            || !MeshQuestion.isElsewhere(question.connection.value) && !hasOthers()
        {
            console.say(
                "\(question.visitor) asked to \(wish(of: question.connection)) and was refused: standard input has ended, so nobody can answer."
            )
            decide?(question.connection, false)
        }
    }
}
