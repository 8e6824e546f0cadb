import BeamMedia

/// What a host's tile in a grid says in place of a live picture.
struct TileText: Sendable, Equatable {
    var state: String
    var detail: String?
    /// A fault, not a step on the way to the picture.
    var isFault = false

    static let codeNeeded = "Its code is needed"
}

extension ViewerStatus {
    /// The same as `words`, short, and without the host's name, which is the tile's label. Nil while the picture is live.
    var tileWords: TileText? {
        if let neededRelay {
            return TileText(
                state: "Only through “\(neededRelay)”", detail: "You are asked whether to show it in this way.")
        }
        return switch phase {
        case .searching: TileText(state: "Looking for it…")
        case .picking: nil
        case .connecting:
            TileText(
                state: "Connecting…", detail: failure.map { ViewerAnnouncement.sentence($0) },
                isFault: failure != nil)
        case .waitingForPerson: TileText(state: "The person there is asked")
        case .waitingForDecision(let code):
            TileText(state: code.spaced, detail: "The person there compares these digits")
        case .code(let code):
            switch code.step {
            case .typing: TileText(state: TileText.codeNeeded)
            case .asking: TileText(state: "The person there is asked")
            case .proving: TileText(state: "The code is checked…")
            }
        case .waitingForPicture where lostSince != nil, .noDatagrams where lostSince != nil,
            .stalled(.nothingArrives, _) where lostSince != nil:
            TileText(
                state: lostSince.map { "Lost since \($0)" } ?? "Lost", detail: "The picture returns by itself.",
                isFault: true)
        case .playing where isPaused, .waitingForPicture where isPaused: TileText(state: "Paused")
        case .playing where sourceVisibility == .windowHidden:
            TileText(state: "The window is hidden", detail: "Minimised there, or on another workspace.")
        case .playing where sourceVisibility == .monitorOff:
            TileText(state: "The monitor is off", detail: "It goes on when it is back.")
        case .playing where sourceVisibility == .regionOutside:
            TileText(state: "The shared part is gone", detail: "The screen there has become smaller.")
        case .playing where sourceVisibility == .screenLocked:
            TileText(state: "The screen is locked", detail: "It goes on when it is unlocked there.")
        case .playing where sourceVisibility == .consentAwaited:
            TileText(state: "The desktop there asks", detail: "Somebody has to answer its dialog.")
        case .playing where sourceVisibility == .hostLost:
            TileText(state: "The host behind it is lost", detail: "It goes on when that machine is back.")
        case .playing where sourceVisibility == .hostEnded:
            TileText(state: "The host behind it has ended", detail: "It goes on when that machine shares again.")
        case .playing: nil
        case .waitingForPicture: TileText(state: "Waiting for the picture…")
        case .noDatagrams:
            TileText(state: "No picture arrives", detail: "A firewall may block its UDP port.", isFault: true)
        case .notSharing: TileText(state: "Not sharing at the moment")
        case .ended: TileText(state: "Has ended its share")
        case .stalled(.nothingArrives, _): TileText(state: "Nothing arrives", isFault: true)
        case .stalled(.loss, _): TileText(state: "Too much is lost on the way", isFault: true)
        case .stalled(.tooSlow, _): TileText(state: "Arrives too slowly", isFault: true)
        case .mistrusting(let refusal), .refused(let refusal):
            TileText(
                state: "Not watched",
                detail: words?.detail ?? ViewerAnnouncement.sentence(refusal.reason), isFault: true)
        case .streamRefused(let reason): TileText(state: "Can't be shown", detail: reason, isFault: true)
        }
    }
}
