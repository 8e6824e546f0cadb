import BeamLog
import BeamWire
import NIOCore

/// Pictures that come through another member, who could show something else: through whom, and whether the person here
/// wants that.
extension MeshDriver {
    /// The picture of `source`, served on by `relay`.
    struct RelayWay: Hashable {
        var source: DeviceKey
        var relay: DeviceKey
    }

    /// How long there has to be no direct way before the person is asked: links are made while members meet.
    private static let patience = TimeAmount.seconds(2)

    /// The link by which what `device` shares is got: to it, or to a member that serves it on.
    func way(to device: DeviceKey) -> MeshLinkID? {
        session.link(to: device)
            ?? session.relays(to: device).lazy.filter { [self] in mayRelay(RelayWay(source: device, relay: $0)) }
            .compactMap { [self] in session.link(to: $0) }.first
    }

    private func mayRelay(_ way: RelayWay) -> Bool {
        switch relaying {
        case .all: true
        case .none: false
        case .ask: relayAnswers[way] == true
        }
    }

    /// A viewer here has another way to its source, or none: tells through whom its pictures come from now on, before
    /// the first of them.
    func wayChanged(of path: MeshPath) {
        let member = path.link.flatMap { session.member(on: $0) }
        // While there is no way, the last picture stays, and so does what is said of it.
        guard let member else { return }
        let relay = member == path.source ? nil : member
        guard usedRelays[path.source] != relay else { return }
        usedRelays[path.source] = relay
        emit(.relayed(path.source, through: relay))
    }

    func forgetWay(to source: DeviceKey) {
        if usedRelays.removeValue(forKey: source) != nil { emit(.relayed(source, through: nil)) }
    }

    /// Asks the person about members whose pictures can be got through another one only, and withdraws questions that have
    /// no point any more.
    func updateRelayQuestions() {
        var questions: [DeviceKey: DeviceKey] = [:]
        for path in paths where relaying == .ask && !isShuttingDown {
            guard let since = path.waitingSince, .now() - since >= Self.patience, way(to: path.source) == nil else {
                continue
            }
            questions[path.source] = session.relays(to: path.source).first {
                relayAnswers[RelayWay(source: path.source, relay: $0)] == nil && session.link(to: $0) != nil
            }
        }
        let old = relayQuestions
        relayQuestions = questions
        for (source, relay) in old where questions[source] != relay { emit(.relayNotNeeded(source)) }
        for (source, relay) in questions where old[source] != relay { emit(.relayNeeded(source, through: relay)) }
    }

    /// The person's answer: once for each member and each that serves it on.
    func answerRelay(_ source: DeviceKey, through relay: DeviceKey, accept: Bool) {
        guard session.belongs(source), session.belongs(relay) else { return }
        relayAnswers[RelayWay(source: source, relay: relay)] = accept
        for path in paths where path.source == source {
            if accept {
                path.appeared()
            } else if path.link.flatMap({ session.member(on: $0) }) == relay {
                path.drop("it isn't wanted in this way")
            }
        }
        updateRelayQuestions()
    }

    /// Those who don't belong to the room any more are asked about anew if they come back.
    func forgetRelayAnswers() {
        relayAnswers = relayAnswers.filter { session.belongs($0.key.source) && session.belongs($0.key.relay) }
    }
}
