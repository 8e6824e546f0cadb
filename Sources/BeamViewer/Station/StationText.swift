import BeamSession
import BeamWire

/// A receiver's words: the same in its window and in the terminal.
public enum StationText {
    /// Why a screen isn't shown any more: a sentence.
    public static func ended(_ sender: StationSession.Sender, _ end: StationSession.End) -> String {
        let who = "“\(sender.name)”"
        return switch end {
        case .sender: "\(who) doesn't show its screen any more."
        case .person: "The screen of \(who) isn't shown any more."
        case .lost: "The connection to \(who) is lost."
        case .unreachable(let reason):
            sentence("\(who) can't be reached\(reason.map { ": \($0)" } ?? "")")
                + " A firewall there may block the ports of its share."
        case .refused(let reason): "The screen of \(who) can't be shown: \(sentence(reason))"
        case .idle: "\(who) has shown nothing."
        case .replaced: "\(who) has begun anew."
        case .forgotten: "\(who) was forgotten here."
        }
    }

    private static func sentence(_ clause: String) -> String {
        clause.last.map { ".!?".contains($0) } ?? true ? clause : clause + "."
    }

    /// How a screen is sent here: the command's end, as it is typed in a shell; nil: this machine has no address.
    ///
    /// - Parameters:
    ///   - name: nil: it isn't announced.
    ///   - address: nil: there is none.
    public static func target(name: String?, address: String?, port: UInt16, usualPort: UInt16) -> String? {
        if let name { return isPlain(name) ? name : PeerText.shellWord(name) }
        guard let address else { return nil }
        let host = address.contains(":") && port != usualPort ? "[\(address)]" : address
        return port == usualPort ? host : "\(host):\(port)"
    }

    /// A shell takes it for one word, as it is.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil || "-_.".unicodeScalars.contains($0)
            }
    }
}
