import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire
import Synchronization

/// Pictures of members that can be got through another member only, who could show something else.
final class MeetingRelays: Sendable {
    /// What the person is asked about such a picture.
    private struct Question: Sendable {
        var source: DeviceKey
        var relay: DeviceKey
    }

    private struct State {
        /// In the order in which they came up.
        var questions: [Question] = []
        /// The names of the members through which pictures come.
        var relays: [DeviceKey: String] = [:]
    }

    private let context: CommandContext
    private let people: MeetingPeople
    private let board: MeshBoard
    private let takesCommands: Bool
    private let state = Mutex(State())

    init(_ context: CommandContext, _ people: MeetingPeople, _ board: MeshBoard, takesCommands: Bool) {
        (self.context, self.people, self.board, self.takesCommands) = (context, people, board, takesCommands)
    }

    /// The room was left.
    func forget() { state.withLock { $0 = State() } }

    /// The name of the member through which this one's pictures come; nil: directly.
    func name(for source: DeviceKey) -> String? { state.withLock { $0.relays[source] } }

    func needed(_ source: DeviceKey, through relay: DeviceKey, _ viewers: MeshViewers?) {
        let (name, through) = (people.name(of: source), people.name(of: relay))
        state.withLock { state in
            state.questions.removeAll { $0.source == source }
            state.questions.append(Question(source: source, relay: relay))
        }
        viewers?.setNeededRelay(of: source, through)
        board.askRelay(
            source, through: relay,
            "“\(name)” can't be reached. Show its screen through “\(through)”, who could change what you see?")
        context.tell(
            .room(.relayAsked(.init(source, name), through: .init(relay, through))),
            "“\(name)” can't be reached directly. Its screen can be shown through “\(through)”, who could change what "
                + "you see" + (takesCommands ? ": r shows it." : "."), as: .relay)
    }

    func notNeeded(_ source: DeviceKey, _ viewers: MeshViewers?) {
        if settle(source, viewers) {
            context.events.write(.room(.relayWithdrawn(.init(source, people.name(of: source)))))
        }
    }

    /// The pictures of `source` come in another way.
    func came(_ source: DeviceKey, through relay: DeviceKey?, _ viewers: MeshViewers?) {
        let (name, through) = (people.name(of: source), relay.map { people.name(of: $0) })
        viewers?.setRelay(of: source, through)
        state.withLock { $0.relays[source] = through }
        // Otherwise nothing of it is seen any more.
        guard people.here.contains(where: { $0.device == source && $0.isSharing }) else { return }
        context.tell(
            .room(.relayed(.init(source, name), through: relay.map { .init($0, people.name(of: $0)) })),
            through.map { "You see “\(name)” through “\($0)”, who could change what you see." }
                ?? "You see “\(name)” directly.", as: .relay)
    }

    // MARK: Answers

    func decide(_ source: DeviceKey, through relay: DeviceKey, accept: Bool, _ parts: Meeting.Parts?) {
        settle(source, parts?.viewers)
        parts?.server.answerRelay(source, through: relay, accept: accept)
    }

    /// The person wants to see the one that was asked about first.
    func takeFirst(_ parts: Meeting.Parts?) {
        guard let question = state.withLock({ $0.questions.first }) else { return }
        decide(question.source, through: question.relay, accept: true, parts)
    }

    /// A program answers. Returns why it can't.
    ///
    /// - Parameter text: whose screen it is about; nil: only one was asked about.
    func answer(_ accept: Bool, from text: String?, _ parts: Meeting.Parts?) -> String? {
        let questions = state.withLock { $0.questions }
        let members = text.map { people.members(matching: $0).map(\.device) }
        let meant = questions.filter { members?.contains($0.source) ?? true }
        guard let question = meant.first else { return "nothing of that kind is asked" }
        guard meant.count == 1 else { return "`from` has to say whose screen it is about: several are asked about" }
        decide(question.source, through: question.relay, accept: accept, parts)
        return nil
    }

    /// Nothing is asked about that screen any more. Returns whether something was.
    @discardableResult private func settle(_ source: DeviceKey, _ viewers: MeshViewers?) -> Bool {
        let wasAsked = state.withLock { state in
            let count = state.questions.count
            state.questions.removeAll { $0.source == source }
            return state.questions.count < count
        }
        board.settleRelay(source)
        viewers?.setNeededRelay(of: source, nil)
        return wasAsked
    }
}
