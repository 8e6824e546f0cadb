import BeamLog
import BeamWire

extension ProgramEvent {
    /// Who asks to be let in at a host or a member of a room, who is let in, and by which code.
    public enum Pairing: Sendable {
        case asked(Visitor)
        case wrongCode(Visitor, pauseSeconds: Int?)
        case comparisonFailed(Visitor, reason: String, failures: Int)
        case refused(Visitor, reason: String)
        case connectionsRefused(count: Int, addresses: Int)
        /// What anybody can cause, as `what` says, summed up.
        case unknownPeers(what: String, count: Int, addresses: Int, seconds: Int)
        case codeChanged(CodeChange)
        /// The browsers' code.
        case webCodeChanged(CodeChange)
        /// At either end.
        case devicePaired(name: String, isRemembered: Bool)
        case letIn(Visitor, session: String, isResumed: Bool)
        case getsPicture(NetworkAddress, session: String)
        case left(Visitor, session: String, reason: String)
        case sentAway(name: String, isForGood: Bool)
        /// `reason` nil: newcomers can connect again.
        case listening(failure: String?)

        var record: Record {
            switch self {
            case .asked(let visitor): Record("pairing", visitor.fields())
            case .wrongCode(let visitor, let pause): Record("wrong-code", visitor.fields(["pause": pause]))
            case .comparisonFailed(let visitor, let reason, let failures):
                Record("comparison-failed", visitor.fields(["reason": reason, "failures": failures]))
            case .refused(let visitor, let reason): Record("refused", visitor.fields(["reason": reason]))
            case .connectionsRefused(let count, let addresses):
                Record("connections-refused", ["count": count, "addresses": addresses])
            case .unknownPeers(let what, let count, let addresses, let seconds):
                Record(
                    "unknown-peers", ["what": what, "count": count, "addresses": addresses, "seconds": seconds])
            case .codeChanged(let change): Record("code-changed", change.fields)
            case .webCodeChanged(let change): Record("web-code-changed", change.fields)
            case .devicePaired(let name, let isRemembered):
                Record("device-paired", ["name": name, "remembered": isRemembered])
            case .letIn(let visitor, let session, let isResumed):
                Record(
                    "paired",
                    visitor.fields(["session": session, "resumed": isResumed, "encrypted": visitor.isEncrypted]))
            case .getsPicture(let address, let session):
                Record("viewer-joined", ["address": "\(address)", "session": session])
            case .left(let visitor, let session, let reason):
                Record("viewer-left", visitor.fields(["session": session, "reason": reason]))
            case .sentAway(let name, let isForGood): Record("sent-away", ["name": name, "forGood": isForGood])
            case .listening(let failure): Record("listening", ["on": failure == nil, "reason": failure])
            }
        }
    }
}

extension CodeChange {
    fileprivate var fields: [String: any EventField] {
        [
            "why": reason.word, "isThere": code != nil, "seconds": left.map { Int($0.inSeconds.rounded()) },
            "by": member,
        ]
    }
}

extension CodeChange.Reason {
    fileprivate var word: String {
        switch self {
        case .used: "used"
        case .typed: "typed"
        case .time: "time"
        case .asked: "asked"
        case .wrongTries: "wrong-codes"
        case .given: "given"
        case .byMember: "member"
        case .roomsJoined: "joined"
        case .memberPutOut: "put-out"
        }
    }
}
