import BeamSession
import BeamWire

extension ProgramEvent {
    /// A receiver, and those who show their screens there.
    public enum Receiver: Sendable {
        // MARK: At the receiver

        /// It waits for a sender. The code isn't in it.
        case waiting(name: String, port: UInt16, takesCode: Bool)
        /// A sender has come, and is about to offer its screen.
        case awaited(StationSession.Sender)
        /// The screen is watched from now on.
        case showing(StationSession.Sender)
        case ended(StationSession.Sender, StationSession.End)
        case busy(StationSession.Sender)

        // MARK: At a sender

        /// What has become of the receiver.
        case receiver(Progress, device: DeviceKey, name: String)

        public enum Progress: String, Sendable {
            /// It waits for this device's screen.
            case found
            case showing
            /// It is gone without a goodbye, and may come back.
            case lost
            /// The person there has ended it.
            case ended
        }

        var record: Record {
            switch self {
            case .waiting(let name, let port, let takesCode):
                Record("waiting", ["name": name, "port": Int(port), "takesCode": takesCode])
            case .awaited(let sender): Record("sender-awaited", sender.fields())
            case .showing(let sender): Record("showing", sender.fields())
            case .ended(let sender, let end):
                Record("showing-ended", sender.fields(["why": end.word, "reason": end.reason]))
            case .busy(let sender): Record("sender-refused", sender.fields())
            case .receiver(let progress, let device, let name):
                Record("receiver", ["state": progress.rawValue, "from": device, "name": name])
            }
        }
    }
}

extension StationSession.Sender {
    fileprivate func fields(_ more: [String: any EventField] = [:]) -> [String: any EventField] {
        more.merging(["from": device, "name": name, "address": "\(address)"]) { $1 }
    }
}

extension StationSession.End {
    fileprivate var word: String {
        switch self {
        case .sender: "sender"
        case .person: "person"
        case .lost: "lost"
        case .unreachable: "unreachable"
        case .refused: "refused"
        case .idle: "idle"
        case .replaced: "replaced"
        case .forgotten: "forgotten"
        }
    }

    fileprivate var reason: String? {
        switch self {
        case .unreachable(let reason): reason
        case .refused(let reason): reason
        default: nil
        }
    }
}
