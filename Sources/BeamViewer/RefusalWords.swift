import BeamProtocol

extension ViewerRefusal {
    /// The words for the person.
    ///
    /// - Parameters:
    ///   - host: the host's name, in quotation marks if it comes from the network.
    ///   - name: the same without quotation marks, for `beamroom devices`.
    ///   - target: what is watched, for `beamroom watch`: a name or an address.
    func words(host: String, name: String, target: String) -> ViewerAnnouncement {
        let (headline, detail) = isByHost ? wordsOfTheHost(host, target) : (ownHeadline(host), ownWords(name, target))
        return ViewerAnnouncement(headline: headline, detail: detail, isFinal: true)
    }

    private func wordsOfTheHost(_ host: String, _ target: String) -> (headline: String, detail: String) {
        let watch = "beamroom watch \(PeerText.shellWord(target))"
        return switch self {
        case .declined:
            (
                "The person at \(host) has declined",
                "To ask again, run `\(watch)`. With the six digits that \(host) shows, nobody is asked: `\(watch) --code NNNNNN`."
            )
        case .forgotten(let says):
            (
                "\(host) has ended this viewer's access",
                "\(Self.quoted(says)) Only the person there can let it in again: ask for the six digits that \(host) shows, and run `\(watch) --code NNNNNN`."
            )
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

    private func ownWords(_ name: String, _ target: String) -> String {
        let watchAgain = "`beamroom watch \(PeerText.shellWord(target))`"
        return switch self {
        case .codeNeeded: "Its code is needed: the six digits that it shows. Give them with --code."
        case .wrongCode:
            "That isn't the code that it shows now. Each code lets in one viewer. Give the current one with --code."
        case .uncheckedCode:
            "The connection ended before the code was checked. Watch again with the code that it shows."
        case .noCodeTaken:
            "It takes no code at the moment, so it can't prove its identity. Leave the code out to be let in without one."
        case .otherKey(let other): Self.words(other, name)
        case .renamed(let name, let known):
            "“\(name)” is the host that this machine knows as “\(known)”. If it was renamed, run "
                + "\(PeerText.renameCommand(known, to: name)); until then, watch it as “\(known)”."
        case .unencryptedImpostor:
            "It was paired before, and encrypts. What answers under its name now doesn't: it may be another machine, or "
                + "somebody may be intercepting the connection."
        case .notEncrypted:
            "It doesn't encrypt what it shows. If others on the network may see that, too, watch it with "
                + "--allow-unencrypted."
        case .forgottenHere:
            "It was forgotten on this machine. Pair with it again: \(watchAgain)."
        case .unknownThere:
            "It doesn't know this viewer any more. Pair with it again: \(watchAgain)."
        case .notPaired:
            "It wasn't paired with this machine. Pair with it once: \(watchAgain)."
        case .unproven(let reason): ViewerAnnouncement.sentence(reason)
        case .declined, .forgotten, .notTrusted, .usedCode, .other: reason
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
