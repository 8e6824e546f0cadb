import BeamHost
import BeamLog
import BeamTrust
import BeamWire

/// Sends viewers away: by a key, by name, or for another program.
public final class SendingAway: Sendable {
    private let context: CommandContext
    private let prompt: PairingPrompt
    private let host: Host

    public init(_ context: CommandContext, prompt: PairingPrompt, host: Host) {
        self.context = context
        self.prompt = prompt
        self.host = host
    }

    /// The key `x`: asks whom, and for how long.
    public func ask() {
        let viewers = list
        guard !viewers.isEmpty else { return context.say("Nobody watches.") }
        for (index, viewer) in viewers.enumerated() { context.say("  \(index + 1)  “\(viewer.shownName)”") }
        prompt.ask(
            .number(
                "Send whom away? Type the number; Enter or Esc sends nobody away.", of: viewers.count, takesNone: true
            ) { [self] in askHowLong(viewers[$0]) }, isNext: false)
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

    private func askHowLong(_ viewer: Guest) {
        prompt.ask(
            TerminalQuestions.Question(
                words:
                    "Send “\(viewer.shownName)” away for now or for good? Type m (a minute: it may come again then), "
                    + "g (good: it has to be let in anew, not before the next time you share), or Enter or Esc for neither.",
                takesEnter: true
            ) { [self] line in
                switch line.filter({ !$0.isWhitespace }).lowercased() {
                // After questions of yes or no, n may be meant as a no.
                case "", "n", "no": .answer { [self] in context.say("“\(viewer.shownName)” stays.") }
                case "m", "minute": .answer { [self] in sendAway(viewer, forGood: false) }
                case "g", "good": .answer { [self] in sendAway(viewer, forGood: true) }
                default: .unclear("Please type m (for a minute) or g (for good), or Enter alone.")
                }
            }, isNext: true)
    }

    private func sendAway(_ viewer: Guest, forGood: Bool) {
        host.sendAway(viewer.identity, forGood: forGood)
        let name = viewer.shownName
        context.tell(
            .pairing(.sentAway(name: name, isForGood: forGood)),
            forGood
                ? "“\(name)” is sent away for good: it isn't let in while you share, and has to be let in anew after that."
                : "“\(name)” is sent away for a minute.")
    }

    private struct NotFound: Error {
        var reason: String
    }

    /// Each viewer once, even if it watches several times.
    private var list: [Guest] {
        var seen: Set<Guest.Identity> = []
        return host.viewers.filter { seen.insert($0.identity).inserted }
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
