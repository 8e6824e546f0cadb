import BeamClock
import BeamHost
import BeamMedia
import BeamSound
import BeamViewer
import Synchronization

/// Reports what becomes of this device's own share in a room, and of its files of words.
final class MeetingShareReporter: Sendable {
    private let context: CommandContext
    private let board: MeshBoard
    /// Keys in the terminal are commands.
    private let takesCommands: Bool
    /// The sound is what this machine plays.
    private let sharesPlayedSound: Bool
    /// Nobody else is here.
    private let isAlone: @Sendable () -> Bool
    private let sound = Mutex(WordLimit())
    private let loads = Mutex(WordLimit())
    private let visible = Mutex(SpokenVisibility())
    /// The room has ended for this device: what is still said of its share isn't true any more.
    private let hasEnded = Mutex(false)

    init(
        _ context: CommandContext, _ board: MeshBoard, takesCommands: Bool, sharesPlayedSound: Bool,
        isAlone: @escaping @Sendable () -> Bool
    ) {
        self.isAlone = isAlone
        self.sharesPlayedSound = sharesPlayedSound
        self.context = context
        self.board = board
        self.takesCommands = takesCommands
    }

    /// The room has ended for this device.
    func end() { hasEnded.withLock { $0 = true } }

    func handle(_ notice: MeshShare.Notice) {
        // A share that was just about to begin when this device was put out: nobody sees it.
        if hasEnded.withLock({ $0 }), case .began = notice { return }
        switch notice {
        case .began(let facts, let warnings):
            board.setShare(isOn: true, isPaused: false)
            for warning in warnings { context.say("Warning: \(warning)") }
            context.say(
                "You share \(facts.source), \(facts.size.width) × \(facts.size.height), with everybody in the room."
                    + (takesCommands ? " s ends that." : ""))
            board.tell(
                isAlone()
                    ? "Whoever comes sees your screen. Press s to end that."
                    : "The others see your screen now. Press s to end that.")
            context.events.write(
                "own-share",
                [
                    "on": .bool(true), "source": .string(facts.source), "width": .integer(facts.size.width),
                    "height": .integer(facts.size.height), "encoder": .string(facts.encoder),
                    "mediaPort": .integer(Int(facts.mediaPort)),
                ])
        case .failed(let reason):
            context.say("Your screen isn't shared. \(reason)")
            board.tell("Your screen isn't shared. \(reason)")
            context.events.write("own-share", ["on": .bool(false), "reason": .string(reason)])
        case .ended(let reason):
            board.setShare(isOn: false, isPaused: false)
            board.setSharesPlayedSound(false)
            let words = reason.map { "You share no longer: \($0)" } ?? "You share no longer."
            context.say(words)
            board.tell(words)
            context.events.write("own-share", ["on": .bool(false), "reason": reason.map { .string($0) }])
        case .host(let notice): handle(notice)
        }
    }

    /// Of what this device shares; and of the files of words.
    func handle(_ notice: HostNotice) {
        switch notice {
        case .paused(let isPaused):
            board.setShare(isOn: true, isPaused: isPaused)
            context.say(
                isPaused
                    ? "Paused: nothing is captured, and the others keep the last picture."
                        + (takesCommands ? " Press p to resume." : "")
                    : "Resumed: the others see your screen again.")
            context.events.write("paused", ["on": .bool(isPaused)])
        case .warning(let text): context.say("Warning: \(text)")
        case .resized(let size): context.say("Your picture is now \(size.width) × \(size.height).")
        case .sourceVisibility(let visibility):
            context.events.write("source-visible", visibility.fields)
            if let words = visible.withLock({ $0.words(for: visibility, now: .now) }) {
                context.say(words)
                board.tell(words)
            }
        case .captionLineRefused(let number, let reason):
            context.say("Line \(number) of the captions was left out: \(reason).")
        case .captionsEnded: context.say("The captions have ended.")
        case .transcriptFailed(let reason):
            context.say("The transcript has ended: \(reason)")
            context.events.write("transcript-failed", ["reason": .string(reason)])
        case .sound(let state):
            context.events.write("sound", SoundText.fields(state))
            if case .capturing = state, sharesPlayedSound { board.setSharesPlayedSound(true) }
            if sound.withLock({ $0.allows(at: .now) }) { context.say(state.description) }
        case .soundFailed(let reason): context.say("Warning: \(reason) Your screen is shared without it.")
        case .session(.pictureLimited(let session, let limit)):
            context.say(CommonText.pictureLimited(limit, who: "Somebody in the room"))
            context.events.write("viewer-limited", CommonText.fields(limit, session: session))
        case .session(.overloaded(let sheds, let viewers)):
            context.events.write("overload", CommonText.fields(sheds, viewers: viewers))
            guard loads.withLock({ $0.allows(at: .now) }) else { break }
            let words = CommonText.overloaded(sheds, viewers: viewers)
            context.say(words)
            board.tell(words)
        case .session, .announced, .notDiscoverable, .recordingInto, .recordingHasGaps, .recordingFailed, .ended: break
        }
    }
}
