import BeamHost
import BeamMedia
import BeamViewer
import Synchronization

/// Reports what becomes of this device's own share in a room, and of its files of words.
public final class RoomShareReporter: Sendable {
    private let context: CommandContext
    private let board: MeshBoard
    private let text: ShareText
    /// The sound is what this machine plays.
    private let sharesPlayedSound: Bool
    /// Nobody else is here.
    private let isAlone: @Sendable () -> Bool
    private let visibility = Mutex(SourceVisibility.visible)
    /// The room has ended for this device: what is still said of its share isn't true any more.
    private let hasEnded = Mutex(false)

    public init(
        _ context: CommandContext, _ board: MeshBoard, takesCommands: Bool, sharesPlayedSound: Bool,
        isAlone: @escaping @Sendable () -> Bool
    ) {
        self.isAlone = isAlone
        self.sharesPlayedSound = sharesPlayedSound
        self.context = context
        self.board = board
        text = ShareText(isInRoom: true, takesCommands: takesCommands)
    }

    /// The room has ended for this device.
    public func end() { hasEnded.withLock { $0 = true } }

    public func handle(_ notice: MeshShare.Notice) {
        // A share that was just about to begin when this device was put out: nobody sees it.
        if hasEnded.withLock({ $0 }), case .began = notice { return }
        switch notice {
        case .began(let facts, let warnings):
            board.setShare(isOn: true, isPaused: false)
            for warning in warnings { context.say("Warning: \(warning)") }
            context.tell(.room(.shareBegan(facts)), text.began(facts))
            board.tell(
                isAlone()
                    ? "Whoever comes sees your screen. Press s to end that."
                    : "The others see your screen now. Press s to end that.")
        case .failed(let reason):
            tell(.room(.shareEnded(reason: reason)), "Your screen isn't shared. \(reason)")
        case .ended(let reason):
            board.setShare(isOn: false, isPaused: false)
            board.setSharesPlayedSound(false)
            tell(
                .room(.shareEnded(reason: reason)),
                reason.map { "You share no longer: \($0)" } ?? "You share no longer.")
        case .host(let notice): handle(notice)
        }
    }

    /// Of what this device shares; and of the files of words.
    public func handle(_ notice: HostNotice) {
        let event = ProgramEvent.Share(notice).map { ProgramEvent.share($0) }
        switch notice {
        case .paused(let isPaused):
            board.setShare(isOn: true, isPaused: isPaused)
            context.tell(event, text.sentence(notice))
        case .sourceVisibility(let visibility):
            let before = self.visibility.withLock { before in
                defer { before = visibility }
                return before
            }
            tell(event, ShareText.sentence(visibility, after: before), as: .visibility)
        case .sound(let state):
            if case .capturing = state, sharesPlayedSound { board.setSharesPlayedSound(true) }
            context.tell(event, text.sentence(notice), as: .sound)
        case .session(.pictureLimited(_, let limit)):
            context.tell(event, ShareText.pictureLimited(limit, who: "Somebody in the room"))
        case .session(.overloaded): tell(event, text.sentence(notice) ?? "", as: .load)
        case .transcriptFailed: context.tell(event, text.sentence(notice))
        case .warning, .resized, .captionLineRefused, .captionsEnded, .soundFailed:
            context.tell(nil, text.sentence(notice), as: Flood(notice))
        case .session, .browserStarted, .gateway, .announced, .notDiscoverable, .recordingInto, .recordingHasGaps,
            .recordingFailed, .ended:
            break
        }
    }

    /// In the terminal and in the window.
    private func tell(_ event: ProgramEvent?, _ words: String, as flood: Flood? = nil) {
        if let event { context.events.write(event) }
        guard flood.map(context.floods.allows) ?? true else { return }
        context.say(words)
        board.tell(words)
    }
}
