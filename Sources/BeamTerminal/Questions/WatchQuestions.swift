import BeamViewer
import BeamWire
import Synchronization

/// What the person at the viewer is asked in the terminal: which host to watch, and the host's code. With a window the
/// same can be answered there; the question here is withdrawn then.
public final class WatchQuestions: Sendable {
    private struct State {
        var viewer: Viewer?
        var asked = Asked.nothing
        /// The hosts in the order in which they were listed. A number stays with its host.
        var listed: [HostChoice] = []
        /// The names of those that are there now.
        var present: Set<String> = []
        /// The rooms that were mentioned.
        var rooms: Set<String> = []
    }

    private enum Asked: Equatable {
        case nothing
        case host
        case code
    }

    private let context: CommandContext
    private let hasWindow: Bool
    private let desk: QuestionDesk
    private let place: Int
    /// By which the code can be given in advance.
    private let codeOption: String
    private let state = Mutex(State())

    public init(
        _ context: CommandContext, hasWindow: Bool, desk: QuestionDesk, codeOption: String = "--code"
    ) {
        self.codeOption = codeOption
        self.context = context
        self.hasWindow = hasWindow
        self.desk = desk
        place = desk.addPlace()
        desk.onEnd(place) { [weak self] in self?.inputEnded() }
    }

    /// Where the person's answers go.
    public func connect(to viewer: Viewer) { state.withLock { $0.viewer = viewer } }

    /// A question is open: live lines would mix with what is typed.
    var isAsking: Bool { state.withLock { $0.asked != .nothing } }

    // MARK: Which host

    /// The hosts to pick from have changed. Only what is new is printed.
    func offer(_ all: [HostChoice]) {
        sayRooms(all)
        let choices = all.filter { $0.roomCommand == nil }
        guard !choices.isEmpty else { return }
        guard TerminalQuestions.hasPerson else { return endWithoutPerson(choices) }
        let (isFirst, lines) = state.withLock { state -> (Bool, [String]) in
            let isFirst = state.asked != .host
            if isFirst { (state.listed, state.present) = ([], []) }
            var lines: [String] = []
            for choice in choices where !state.present.contains(choice.name) {
                let number: Int
                if let index = state.listed.firstIndex(where: { $0.name == choice.name }) {
                    number = index + 1
                } else {
                    state.listed.append(choice)
                    number = state.listed.count
                }
                lines.append("  \(number)  \(Self.name(choice))  (\(choice.addresses.first ?? "no address"))")
            }
            let names = Set(choices.map(\.name))
            for (index, choice) in state.listed.enumerated()
            where state.present.contains(choice.name) && !names.contains(choice.name) {
                lines.append("  \(index + 1)  \(Self.name(choice)) is gone.")
            }
            state.present = names
            state.asked = .host
            return (isFirst, lines)
        }
        if isFirst { context.say("Several hosts were found:") }
        for line in lines { context.say(line) }
        guard isFirst else { return }
        let place = hasWindow ? ", or pick it in the window" : ""
        ask(
            TerminalQuestions.Question(words: "Which one? Type its number\(place):") { [self] line in
                guard let choice = choice(line) else { return .unclear("Type one of the numbers.") }
                return .answer { [self] in
                    let viewer = state.withLock { state in
                        state.asked = .nothing
                        return state.viewer
                    }
                    viewer?.choose(choice)
                }
            })
    }

    /// Rooms aren't watched; each is said once.
    private func sayRooms(_ choices: [HostChoice]) {
        for choice in choices {
            guard let command = choice.roomCommand, state.withLock({ $0.rooms.insert(choice.name).inserted }) else {
                continue
            }
            context.say("\(Self.name(choice)) is a room: `\(command)` enters it.")
        }
    }

    private func choice(_ line: String) -> HostChoice? {
        let digits = line.filter { !$0.isWhitespace }
        return state.withLock { state in
            guard let number = Int(digits), state.listed.indices.contains(number - 1) else { return nil }
            let choice = state.listed[number - 1]
            return state.present.contains(choice.name) ? choice : nil
        }
    }

    private static func name(_ choice: HostChoice) -> String { "“\(PeerText.name(choice.name))”" }

    private func endWithoutPerson(_ choices: [HostChoice]) {
        guard !hasWindow else { return }
        let names = choices.map { Self.name($0) }.joined(separator: ", ")
        context.latch.end(.failed("Several hosts were found: \(names). Name one: `beamroom watch NAME`."))
    }

    /// A host was picked, here or in the window.
    func picked() { withdraw(.host) }

    // MARK: The code

    /// Asks for the code as the viewer's status says, and prints the status in any case.
    public func show(_ status: ViewerAnnouncement) {
        guard let prompt = status.question, !prompt.isBeingChecked, TerminalQuestions.hasPerson else {
            withdraw(.code)
            return context.say(
                status.sentence
                    + (hasWindow && status.isAnsweredInWindow ? " You can also try again in the window." : ""))
        }
        var words = status.sentence
        if prompt.mayAsk, !prompt.isAsking { words += " Or type `ask`, and the person there is asked to let you in." }
        if hasWindow { words += " You can answer in the window, too." }
        let isRepeated = state.withLock { state in
            defer { state.asked = .code }
            return state.asked == .code || prompt.problem != nil
        }
        ask(
            TerminalQuestions.Question(words: words) { [self] line in
                if prompt.mayAsk, !prompt.isAsking, line.filter({ !$0.isWhitespace }).lowercased() == "ask" {
                    return .answer { [self] in viewer?.askPerson() }
                }
                guard let code = PairingCode.typed(line) else {
                    return .unclear("That isn't a code. Type the six digits that the screen there shows.")
                }
                return .answer { [self] in viewer?.enter(code) }
            }, isRepeated: isRepeated)
    }

    /// There is nothing to ask any more.
    public func withdrawCode() { withdraw(.code) }

    private var viewer: Viewer? { state.withLock { $0.viewer } }

    // MARK: Steps

    private func ask(_ question: TerminalQuestions.Question, isRepeated: Bool = false) {
        if !desk.ask(question, at: place, isRepeated: isRepeated) { inputEnded() }
    }

    private func withdraw(_ asked: Asked) {
        let isOpen = state.withLock { state in
            guard state.asked == asked else { return false }
            state.asked = .nothing
            return true
        }
        if isOpen { desk.withdraw(place) }
    }

    /// Ctrl-D: nobody can answer here any more. With a window the person answers there.
    private func inputEnded() {
        let asked = state.withLock { state in
            defer { state.asked = .nothing }
            return state.asked
        }
        guard asked != .nothing, !hasWindow else { return }
        context.latch.end(
            .peerLost(
                asked == .code
                    ? "Standard input has ended, so nobody can type the code. Give it with \(codeOption)."
                    : "Standard input has ended, so nobody can pick a host. Name one: `beamroom watch NAME`."))
    }
}
