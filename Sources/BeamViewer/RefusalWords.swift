import BeamProtocol

extension ViewerRefusal {
    /// The words for the person.
    ///
    /// - Parameters:
    ///   - host: the host's name, in quotation marks if it comes from the network.
    ///   - name: the same without quotation marks, for commands.
    func words(host: String, name: String) -> ViewerAnnouncement {
        let (headline, detail) = isByHost ? wordsOfTheHost(host) : (ownHeadline(host), ownWords(host, name))
        return ViewerAnnouncement(headline: headline, detail: detail, isFinal: true)
    }

    private func wordsOfTheHost(_ host: String) -> (headline: String, detail: String) {
        switch self {
        case .declined: ("The person at \(host) has declined", "Ask there, then watch again.")
        case .notTrusted(let says): ("\(host) lets nobody new in", Self.quoted(says))
        case .usedCode:
            (
                "The code of \(host) was used",
                "Each code lets in one viewer. Watch again when a new one has been given there."
            )
        default:
            if case .other(let says) = self { ("\(host) has refused", Self.quoted(says)) } else { (host, reason) }
        }
    }

    private static func quoted(_ says: String) -> String { ViewerAnnouncement.sentence(PeerText.reason(says)) }

    private func ownHeadline(_ host: String) -> String {
        switch self {
        case .codeNeeded, .wrongCode, .uncheckedCode, .noCodeTaken: "Not paired with \(host)"
        default: "This viewer doesn't watch \(host)"
        }
    }

    private func ownWords(_ host: String, _ name: String) -> String {
        switch self {
        case .codeNeeded: "It wants its code: six digits, which it shows. Give them with --code."
        case .wrongCode:
            "That isn't the code that it shows now. Each code lets in one viewer. Give the present one with --code."
        case .uncheckedCode:
            "The connection ended before it had checked the code. Watch again with the code that it shows."
        case .noCodeTaken:
            "It takes no code at the moment, so it can't prove who it is. Leave the code out to be let in without one."
        case .otherKey(let other): Self.words(other, name)
        case .renamed(let name, let known):
            "“\(name)” is the host that this machine knows as “\(known)”. If it was renamed, run "
                + "`beamroom devices rename \(PeerText.shellWord(known)) \(PeerText.shellWord(name))`; until then, watch it as “\(known)”."
        case .unencryptedImpostor:
            "It was paired before, and encrypts. What answers under its name now doesn't, so it is another machine."
        case .notEncrypted:
            "It doesn't encrypt what it shows. If others on the network may see that, too, watch it with "
                + "--allow-unencrypted."
        case .forgottenHere: "It was forgotten on this machine. To pair with it again: `beamroom watch`."
        case .unknownThere:
            "It doesn't know this viewer any more. Pair again: `beamroom watch \(PeerText.shellWord(name))`."
        case .notPaired:
            "It isn't one that was paired with this machine. Pair with it once: `beamroom watch \(PeerText.shellWord(name))`."
        case .unproven(let reason): ViewerAnnouncement.sentence(reason)
        case .declined, .notTrusted, .usedCode, .other: reason
        }
    }

    private static func words(_ other: OtherKey, _ name: String) -> String {
        let expected = other.expected.map { "“\($0)”" }.joined(separator: " or ")
        let begin = "It shows another key (\(other.key)) than "
        let danger = "If not, somebody may be intercepting the connection."
        return switch other.place {
        case .name:
            begin + "the one that was paired under this name. If it was set up anew, forget the old one with "
                + "`beamroom devices forget \(PeerText.shellWord(name))` and pair again. \(danger)"
        case .address(let address):
            begin + "\(expected), which was at \(address) the last time. If another machine has that address now, "
                + "watch with --new-host. \(danger)"
        case .here:
            begin + "\(expected.isEmpty ? "the host" : expected), which was watched a moment ago. If that is right, "
                + "watch again with --new-host. \(danger)"
        }
    }
}
