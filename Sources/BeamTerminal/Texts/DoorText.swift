import BeamLog
import BeamMedia
import BeamWire
import Foundation

/// Who asks to be let in, in words for the person at the door.
public struct DoorText: Sendable {
    /// Those who come.
    public enum Guests: Sendable {
        case viewers
        /// They enter a room.
        case newcomers
        /// They show their screens at this receiver.
        case senders

        var one: String {
            switch self {
            case .viewers: "viewer"
            case .newcomers: "newcomer"
            case .senders: "sender"
            }
        }
        /// Where the code is typed.
        var place: String { self == .newcomers ? "member" : one }
        /// What they come to.
        var command: String {
            switch self {
            case .viewers: "share"
            case .newcomers: "room"
            case .senders: "watch --wait"
            }
        }
    }

    var guests: Guests

    static func comparisonFailed(_ visitor: Visitor, _ reason: String, failures: Int) -> String {
        "Comparing digits with \(visitor) failed: \(reason)."
            + (failures < 3
                ? "" : " \(failures) comparisons have failed within a day: somebody may be guessing digits.")
    }

    func connectionsRefused(_ count: Int, addresses: Int) -> String {
        "\(CommonText.count(count, "more connection or \(guests.one)", "more connections and \(guests.one)s")) from "
            + "\(CommonText.count(addresses, "address", "addresses")) \(count == 1 ? "was" : "were") refused in the last 10 s."
    }

    func paired(_ name: String, isToBeRemembered: Bool) -> String {
        switch guests {
        case .newcomers: "“\(name)” is let in, and belongs to the room from now on."
        case .senders where isToBeRemembered: "“\(name)” is paired: next time it needs no code."
        case .senders: "“\(name)” is paired for this time only: next time it has to type the code again."
        case .viewers where isToBeRemembered:
            "“\(name)” is paired: next time no code is needed. So is whoever is let in after it."
        case .viewers: "“\(name)” is paired for this time only: when it is started again, it has to be let in again."
        }
    }

    func acceptingPaused(_ reason: String) -> String {
        "New \(guests.one)s have to wait: the system has no room for another connection (\(reason)). The "
            + "program tries again twice a second. If this lasts, close other programs, or raise the limit with "
            + "`ulimit -n` before `beamroom \(guests.command)`."
    }

    func listeningFailed(_ reason: String) -> String {
        "Warning: No new \(guests.one) can connect, because the port was lost (\(reason)). The program tries "
            + "to open it again twice a second. Those who are connected already aren't affected."
    }

    var listeningAgain: String { "New \(guests.one)s can connect again." }

    /// `what`: the sentence's beginning, up to `code`.
    func code(_ code: PairingCode, _ what: String, serves: String) -> String {
        guests == .senders
            ? "\(what) to type at a sender: \(code.spaced) (\(serves))"
            : "\(what) to type at a new \(guests.place): \(code.spaced) (serves \(serves))"
    }

    func codeUsed(file: String?) -> String {
        file.map {
            "The code in \($0) was used. To let in another \(guests.one), write a new code into the file."
        } ?? "The code was used, so it lets in nobody else."
    }

    /// Why the code is another one, as a sentence; nil: the person knows.
    ///
    /// - Parameters:
    ///   - member: the other member of the room that has caused it, by name.
    ///   - isFile: the code is from a file.
    static func why(_ reason: CodeChange.Reason, member: String?, isFile: Bool) -> String? {
        switch reason {
        case .used: isFile ? nil : "This code was used."
        case .typed: isFile ? nil : "The last code was typed in a browser that wasn't let in; others may have read it."
        case .time: "The last code has served for ten minutes."
        case .wrongTries:
            "\(HostCode.mostWrongTries) wrong codes were typed\(member.map { ", the last one at “\($0)”" } ?? "")."
        case .byMember: member.map { "“\($0)” has replaced the room's code." } ?? "The room's code was replaced."
        case .roomsJoined: "Two parts of the room have met, and have one code now."
        case .memberPutOut: "Whoever was put out knew the last code."
        case .asked, .given: nil
        }
    }

    /// Which devices a code serves, when it is replaced by itself, and how to get another one.
    func service(_ service: HostCode.Service, until end: Date?, takesKey: Bool) -> String {
        // There is another one after each sender.
        if guests == .senders { return end.map { "until \(CommonText.clock($0))" } ?? "for one" }
        let whom =
            switch service {
            case .everybody, .room, .always: "everybody" + (end.map { ", until \(CommonText.clock($0))" } ?? "")
            case .one: "one \(guests.one)"
            }
        return whom + (takesKey ? "; c makes a new one" : "")
    }
}

extension DoorReporter.Invitation {
    /// How a host's viewers are let in. `keys`: what the person can press, the last sentence.
    func words(keys: String, isInBackground: Bool) -> String {
        if isTrustedOnly { return "Only viewers that were paired before are let in. \(keys)" }
        return switch acceptance {
        case .ask where isInBackground:
            "This job is in the background, where it can't ask about viewers without the code: bring it to the "
                + "foreground (`fg`) when one comes."
        case .ask: "You are asked about viewers without the code. \(keys)"
        case .all: "Warning: Every viewer is let in, without a code or a question (--accept all). \(keys)"
        case .none where showsCode || hasCode:
            "Only paired viewers and viewers with the code are let in. \(keys)"
        case .none:
            "Only viewers that were paired before are let in: there is no terminal to show a code on. "
                + "To let in new viewers, give a code with --code-file FILE. Ctrl-C ends."
        }
    }

    /// How a room's newcomers are let in.
    public func wordsInRoom(keys: String, hasWindow: Bool) -> String {
        switch acceptance {
        case .ask: "You are asked about newcomers without the code. \(keys)"
        case .all: "Warning: Every newcomer is let in, without a code or a question (--accept all). \(keys)"
        case .none where showsCode || hasCode:
            "You aren't asked about newcomers without the code; others in the room are. \(keys)"
        case .none where hasWindow:
            "You aren't asked about newcomers without the code; others in the room are. The window shows it (w). \(keys)"
        case .none:
            "Nobody is asked here about newcomers; others in the room are. A code comes with --code-file FILE. \(keys)"
        }
    }
}
