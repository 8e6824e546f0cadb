import BeamSession
import BeamWire

extension ViewerRefusal {
    /// What the person at the window can do after a refusal, in place of a command in the terminal.
    enum Retry: Sendable, Equatable {
        /// Type the host's code, or ask the person there. `says`: what Enter does.
        case codeOrPerson(says: String)
        /// Try again.
        case again(says: String)
    }

    /// Nil: what helps is decided elsewhere, as with a key that isn't the expected one.
    var retry: Retry? {
        switch self {
        case .declined:
            .codeOrPerson(says: "Press Enter to ask again, or type the code that the screen there shows.")
        case .forgotten, .usedCode, .codeNeeded, .wrongCode, .replacedCode, .uncheckedCode:
            .codeOrPerson(
                says:
                    "Type the code that the screen there shows, or press Enter: the person there is asked to let you in."
            )
        case .forgottenHere, .unknownThere, .notPaired:
            .codeOrPerson(
                says:
                    "To pair with it again, type the code that the screen there shows, or press Enter: the person there "
                    + "is asked.")
        case .notTrusted, .sentAway, .other: .again(says: "Press Enter to try again.")
        case .noCodeTaken: .again(says: "Press Enter to be let in without a code.")
        case .otherKey, .unencryptedImpostor, .notEncrypted, .noReceiver, .onlyReceiver, .unproven: nil
        }
    }

    /// Whether the reason that the words give is more than the headline.
    var windowDetail: String? {
        switch self {
        case .forgotten(let says), .sentAway(let says), .notTrusted(let says), .other(let says):
            says.isEmpty ? nil : Self.quoted(says)
        default: nil
        }
    }

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
                "To ask again, run `\(watch)`. With the code that the screen of \(host) shows, nobody is asked: `\(watch) --code NNNNNN`."
            )
        case .forgotten(let says):
            (
                "\(host) has ended this viewer's access",
                "\(Self.quoted(says)) Only the person there can let it in again: ask for the code that the screen of \(host) shows, and run `\(watch) --code NNNNNN`."
            )
        case .sentAway(let says): ("\(host) has sent this viewer away", Self.quoted(says))
        case .notTrusted(let says): ("\(host) lets nobody new in", Self.quoted(says))
        case .usedCode:
            (
                "The code of \(host) was used",
                "There each code lets in one viewer. Watch again when a new one has been given there."
            )
        default:
            if case .other(let says) = self { ("\(host) has refused", Self.quoted(says)) } else { (host, reason) }
        }
    }

    /// The words for somebody whose screen a receiver is to show.
    ///
    /// - Parameters:
    ///   - receiver: its name in quotation marks, or `the receiver`.
    ///   - target: what was named, for `beamroom share --to`.
    func wordsOfReceiver(_ receiver: String, target: String) -> ViewerAnnouncement {
        let again = "`beamroom share --to \(PeerText.shellWord(target))`"
        let (headline, detail) =
            switch self {
            case .declined: ("The person at \(receiver) has ended it", "Nothing is shown there.")
            case .forgotten, .forgottenHere, .unknownThere, .notPaired:
                ("Not paired with \(receiver)", "Type the code that it shows: \(again).")
            case .notTrusted(let says), .sentAway(let says), .other(let says):
                ("\(receiver) doesn't show your screen", Self.quoted(says))
            case .codeNeeded:
                ("Not paired with \(receiver)", "The code that it shows is needed. Give it with --to-code-file FILE.")
            case .wrongCode, .replacedCode:
                (
                    "Not paired with \(receiver)",
                    "That isn't the code that it shows now. Give the one that it shows now."
                )
            case .uncheckedCode:
                (
                    "Not paired with \(receiver)",
                    "The connection ended before the code was checked. Try again: \(again)."
                )
            case .noCodeTaken, .usedCode:
                (
                    "Not paired with \(receiver)",
                    "It takes no code at the moment. It takes those that were paired with it before."
                )
            case .noReceiver:
                (
                    "\(receiver) is no receiver",
                    "`beamroom watch --wait` makes a machine one, and `beamroom hosts` lists those that there are."
                )
            case .otherKey(let other):
                (
                    "\(receiver) isn't the receiver that you paired with",
                    "It shows another key (\(other.key)). If it was set up anew, forget the old one with "
                        + "`beamroom devices forget` and type the code that it shows. If not, somebody may be intercepting "
                        + "the connection."
                )
            case .unencryptedImpostor, .notEncrypted, .onlyReceiver, .unproven:
                ("\(receiver) can't be trusted", ViewerAnnouncement.sentence(reason))
            }
        return ViewerAnnouncement(headline: headline, detail: detail, isFinal: true)
    }

    /// The words for a newcomer whom a room doesn't let in.
    ///
    /// - Parameter room: its name in quotation marks, or `the room`.
    func wordsOfRoom(_ room: String) -> ViewerAnnouncement {
        let again = "To ask again, start `beamroom room` anew."
        let (headline, detail) =
            switch self {
            case .declined:
                ("You weren't let into \(room)", "\(again) With the code that its screens show, nobody is asked.")
            case .forgotten(let says), .notTrusted(let says), .other(let says):
                ("You can't enter \(room)", Self.quoted(says))
            case .noCodeTaken:
                (
                    "You can't enter \(room)",
                    "It takes no code, so it can't prove that it is the one that you mean: anybody can announce a room of that "
                        + "name. If you know the address of somebody in the right one, give it with --at."
                )
            case .usedCode: ("The code of \(room) was used", "Ask for the one that its screens show now. \(again)")
            default: ("You can't enter \(room)", ViewerAnnouncement.sentence(reason))
            }
        return ViewerAnnouncement(headline: headline, detail: detail, isFinal: true)
    }

    private static func quoted(_ says: String) -> String { ViewerAnnouncement.sentence(PeerText.reason(says)) }

    private func ownHeadline(_ host: String) -> String {
        switch self {
        case .codeNeeded, .wrongCode, .replacedCode, .uncheckedCode, .noCodeTaken, .forgottenHere, .unknownThere,
            .notPaired:
            "Not paired with \(host)"
        case .otherKey(let other) where other.place == .here: "\(host) isn't the machine you watched"
        case .otherKey, .unencryptedImpostor: "\(host) isn't the machine you paired with"
        case .notEncrypted: "\(host) doesn't encrypt its picture"
        case .unproven: "\(host) can't prove which machine it is"
        default: "\(host) isn't watched"
        }
    }

    private func ownWords(_ name: String, _ target: String) -> String {
        let watchAgain = "`beamroom watch \(PeerText.shellWord(target))`"
        return switch self {
        case .codeNeeded: "The code that its screen shows is needed. Give it with --code."
        case .wrongCode:
            "That isn't the code that it shows now. Give the current one with --code."
        case .replacedCode:
            "It has replaced its code a moment ago. Give the one that it shows now with --code."
        case .uncheckedCode:
            "The connection ended before the code was checked. Watch again with the code that it shows."
        case .noCodeTaken:
            "It takes no code at the moment, so it can't prove its identity. Leave the code out to be let in without one."
        case .otherKey(let other): Self.words(other, name)
        case .unencryptedImpostor:
            "It was paired before, and encrypts. What answers under its name now doesn't: it may be another machine, or "
                + "somebody may be intercepting the connection."
        case .notEncrypted:
            "Everybody on the network can see its picture, too. If they may, watch it with --allow-unencrypted."
        case .forgottenHere:
            "It was forgotten on this machine. Pair with it again: \(watchAgain)."
        case .unknownThere:
            "It doesn't know this viewer any more. Pair with it again: \(watchAgain)."
        case .notPaired:
            "It wasn't paired with this machine. Pair with it once: \(watchAgain)."
        case .noReceiver, .onlyReceiver: ViewerAnnouncement.sentence(self.reason)
        case .unproven(let reason): ViewerAnnouncement.sentence(reason)
        case .declined, .forgotten, .sentAway, .notTrusted, .usedCode, .other: reason
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
