import BeamNetwork
import BeamProtocol
import BeamTerminal

/// Pictures of members that can be got through another member only, who could show something else.
extension Meeting {
    /// What the person is asked about such a picture.
    struct RelayQuestion: Sendable {
        var source: DeviceKey
        var relay: DeviceKey
    }

    func relayNeeded(_ source: DeviceKey, through relay: DeviceKey) {
        let (name, through) = (people.name(of: source), people.name(of: relay))
        state.withLock { state in
            state.relayQuestions.removeAll { $0.source == source }
            state.relayQuestions.append(RelayQuestion(source: source, relay: relay))
        }
        viewers?.setNeededRelay(of: source, through)
        board.askRelay(
            source, through: relay,
            "“\(name)” can't be reached. Show its screen through “\(through)”, who could change what you see?")
        context.tell(
            .room(.relayAsked(member(source), through: member(relay))),
            "“\(name)” can't be reached directly. Its screen can be shown through “\(through)”, who could change what "
                + "you see" + (prompt.takesCommands ? ": r shows it." : "."), as: .relay)
    }

    func relayNotNeeded(_ source: DeviceKey) {
        let wasAsked = state.withLock { state in
            let count = state.relayQuestions.count
            state.relayQuestions.removeAll { $0.source == source }
            return state.relayQuestions.count < count
        }
        board.settleRelay(source)
        viewers?.setNeededRelay(of: source, nil)
        if wasAsked { context.events.write(.room(.relayWithdrawn(member(source)))) }
    }

    /// The pictures of `source` come in another way.
    func relayed(_ source: DeviceKey, through relay: DeviceKey?) {
        let (name, through) = (people.name(of: source), relay.map { people.name(of: $0) })
        viewers?.setRelay(of: source, through)
        state.withLock { $0.relays[source] = through }
        // Otherwise nothing of it is seen any more.
        guard people.here.contains(where: { $0.device == source && $0.isSharing }) else { return }
        context.tell(
            .room(.relayed(member(source), through: relay.map(member))),
            through.map { "You see “\(name)” through “\($0)”, who could change what you see." }
                ?? "You see “\(name)” directly.", as: .relay)
    }

    private func member(_ device: DeviceKey) -> ProgramEvent.Room.Member {
        ProgramEvent.Room.Member(device, people.name(of: device))
    }

    // MARK: Answers

    func decideRelay(_ source: DeviceKey, through relay: DeviceKey, accept: Bool) {
        state.withLock { $0.relayQuestions.removeAll { $0.source == source } }
        board.settleRelay(source)
        viewers?.setNeededRelay(of: source, nil)
        server?.answerRelay(source, through: relay, accept: accept)
    }

    /// The person wants to see the one that was asked about first.
    func takeRelay() {
        guard let question = state.withLock({ $0.relayQuestions.first }) else { return }
        decideRelay(question.source, through: question.relay, accept: true)
    }

    /// A program answers. Returns why it can't.
    ///
    /// - Parameter text: whose screen it is about; nil: only one was asked about.
    func answerRelay(_ accept: Bool, from text: String?) -> String? {
        let questions = state.withLock { $0.relayQuestions }
        let meant: [RelayQuestion]
        if let text {
            let members = people.members(matching: text).map(\.device)
            meant = questions.filter { members.contains($0.source) }
        } else {
            meant = questions
        }
        guard let question = meant.first else { return "nothing of that kind is asked" }
        guard meant.count == 1 else { return "`from` has to say whose screen it is about: several are asked about" }
        decideRelay(question.source, through: question.relay, accept: accept)
        return nil
    }
}
