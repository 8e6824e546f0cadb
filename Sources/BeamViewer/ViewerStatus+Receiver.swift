import BeamSession
import BeamWire

/// What the person reads whose screen a receiver is to show.
extension ViewerStatus {
    /// Nil: the same as of a host, or nothing.
    var receiverWords: ViewerAnnouncement? {
        guard isAtReceiver else { return nil }
        let receiver = quotedName ?? "the receiver"
        return switch phase {
        case .searching(let name?):
            ViewerAnnouncement(
                headline: "Looking for the receiver “\(name)”…",
                detail: failure.map { "\(discoveryWords) Also tried: \(ViewerAnnouncement.ended($0)) Trying again." }
                    ?? discoveryProblem ?? "On that machine, run `beamroom watch --wait`. Ctrl-C ends.")
        case .refused(let refusal): refusal.wordsOfReceiver(receiver, target: watched ?? hostName ?? "")
        case .ended(let says):
            ViewerAnnouncement(
                headline: "\(receiver) has ended",
                detail: says.map { ViewerAnnouncement.sentence(PeerText.reason($0)) })
        // There is no picture to wait for.
        case .waitingForPicture, .notSharing, .noDatagrams, .stalled, .playing:
            ViewerAnnouncement(headline: "\(receiver) waits for your screen")
        default: nil
        }
    }

    private var discoveryWords: String { discoveryProblem ?? "No receiver of that name is announced on this network." }
}
