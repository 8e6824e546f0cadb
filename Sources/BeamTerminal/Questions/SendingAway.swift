import BeamHost
import BeamLog
import BeamTrust
import BeamWire

/// Sends viewers away: by a key, by name, or for another program.
public final class SendingAway: Sendable {
    private let context: CommandContext
    /// Asks the person; see `PairingPrompt.ask`.
    private let pose: @Sendable (TerminalQuestions.Question, _ isNext: Bool) -> Void
    private let guests: @Sendable () -> [Guest]
    private let evict: @Sendable (Guest.Identity, _ forGood: Bool) -> Void
    /// Browsers at a member of a room, which may share more than once.
    private let isInRoom: Bool

    public convenience init(_ context: CommandContext, prompt: PairingPrompt, host: some ServingHost) {
        self.init(
            context, ask: { prompt.ask($0, isNext: $1) }, guests: { host.viewers },
            evict: { host.sendAway($0, forGood: $1) })
    }

    /// - Parameters:
    ///   - ask: asks the person, unless somebody waits for an answer.
    ///   - guests: those who can be sent away.
    ///   - isInRoom: they are browsers at a member of a room.
    public init(
        _ context: CommandContext, ask: @escaping @Sendable (TerminalQuestions.Question, _ isNext: Bool) -> Void,
        guests: @escaping @Sendable () -> [Guest],
        evict: @escaping @Sendable (Guest.Identity, _ forGood: Bool) -> Void, isInRoom: Bool = false
    ) {
        (self.context, pose, self.guests, self.evict) = (context, ask, guests, evict)
        self.isInRoom = isInRoom
    }

    /// The key `x`: asks whom, and for how long.
    public func ask() {
        let viewers = list
        guard !viewers.isEmpty else { return context.say("Nobody watches.") }
        for (index, viewer) in viewers.enumerated() { context.say("  \(index + 1)  “\(viewer.shownName)”") }
        pose(
            .number(
                "Send whom away? Type the number; Enter or Esc sends nobody away.", of: viewers.count, takesNone: true
            ) { [self] in askHowLong(viewers[$0]) }, false)
    }

    /// `kick NAME`.
    public func ask(_ name: String) {
        switch find(name) {
        case .success(let viewer): askHowLong(viewer)
        case .failure(let problem): context.say(ViewerSentence.capitalised(problem.reason) + ".")
        }
    }

    /// For another program. Returns why it can't be done, without a full stop; nil: it is done.
    public func sendAway(_ name: String, forGood: Bool) -> String? {
        switch find(name) {
        case .success(let viewer):
            sendAway(viewer, forGood: forGood)
            return nil
        case .failure(let problem): return problem.reason
        }
    }

    /// Asks for how long this one is to be sent away.
    public func askHowLong(_ viewer: Guest) {
        pose(
            TerminalQuestions.Question(
                words:
                    "Send “\(viewer.shownName)” away for now or for good? Type m (a minute: it may come again then), "
                    + "g (good: it has to be let in anew, not before \(isInRoom ? "this program ends" : "the next time you share")), or Enter or Esc for neither.",
                takesEnter: true
            ) { [self] line in
                switch line.filter({ !$0.isWhitespace }).lowercased() {
                // After questions of yes or no, n may be meant as a no.
                case "", "n", "no": .answer { [self] in context.say("“\(viewer.shownName)” stays.") }
                case "m", "minute": .answer { [self] in sendAway(viewer, forGood: false) }
                case "g", "good": .answer { [self] in sendAway(viewer, forGood: true) }
                default: .unclear("Please type m (for a minute) or g (for good), or Enter alone.")
                }
            }, true)
    }

    private func sendAway(_ viewer: Guest, forGood: Bool) {
        evict(viewer.identity, forGood)
        let name = viewer.shownName
        context.tell(
            .pairing(.sentAway(name: name, isForGood: forGood)),
            forGood
                ? "“\(name)” is sent away for good: it isn't let in \(isInRoom ? "before this program ends" : "while you share"), and has to be let in anew after that."
                : "“\(name)” is sent away for a minute.")
    }

    private struct NotFound: Error {
        var reason: String
    }

    /// Each viewer once, even if it watches several times.
    private var list: [Guest] {
        var seen: Set<Guest.Identity> = []
        return guests().filter { seen.insert($0.identity).inserted }
    }

    /// The viewer of this name, in any case, or of this key or address.
    private func find(_ text: String) -> Result<Guest, NotFound> {
        let viewers = list
        let shown = PeerText.name(text)
        var found = viewers.filter { DeviceNames.areSame($0.shownName, text) }
        if found.isEmpty {
            // `lab` for “lab (3f2a)”, as one of two of that name is called.
            found = viewers.filter { viewer in
                guard case .device(let key) = viewer.identity else { return false }
                return DeviceNames.isVariant(viewer.shownName, of: text, key)
            }
        }
        if found.isEmpty {
            let digits = text.lowercased().filter { !$0.isWhitespace }
            found = viewers.filter { viewer in
                switch viewer.identity {
                case .device(let key): digits.count >= 4 && key.hex.hasPrefix(digits)
                case .address(let address): "\(address)" == text
                case .browser(let session): digits.count >= 4 && session.lowercased().hasPrefix(digits)
                }
            }
        }
        guard let viewer = found.first else { return .failure(NotFound(reason: "no viewer is called “\(shown)”")) }
        guard found.count == 1 else {
            let keys = found.compactMap { viewer -> String? in
                switch viewer.identity {
                case .device(let key): key.description
                case .address: nil
                case .browser(let session): String(session.prefix(8))
                }
            }
            return .failure(
                NotFound(
                    reason: "“\(shown)” may mean \(found.count) viewers: name one by its digits, "
                        + keys.joined(separator: " or ")))
        }
        return .success(viewer)
    }
}

/// Sentences made of parts.
enum ViewerSentence {
    static func capitalised(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
