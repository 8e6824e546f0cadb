import BeamClock
import BeamDisplay
import BeamLog
import BeamMedia
import BeamSession
import BeamWire

/// The window of a member of a room of equals: what the others share, one picture or a grid, who is here, and the room's
/// words. Runs on the main thread, as SDL requires.
@MainActor
public final class MeshWindow {
    /// What the person does in the window, besides looking. Called on the main thread.
    public struct Actions: Sendable {
        public var write: @Sendable (LogInput) -> Void
        /// To share, or to end that.
        public var toggleShare: @Sendable () -> Void
        public var togglePause: @Sendable () -> Void
        /// To enter the other room that is offered, or to stay.
        public var answerOffer: @Sendable (Bool) -> Void
        /// Whether this is the room that the person means.
        public var answerDoubt: @Sendable (Bool) -> Void
        /// The answer about somebody who asks to be let in.
        public var decide: @Sendable (ConnectionID, _ accept: Bool) -> Void
        /// The answer about a picture that comes through another member.
        public var decideRelay: @Sendable (_ source: DeviceKey, _ relay: DeviceKey, _ accept: Bool) -> Void

        public init(
            write: @escaping @Sendable (LogInput) -> Void, toggleShare: @escaping @Sendable () -> Void,
            togglePause: @escaping @Sendable () -> Void, answerOffer: @escaping @Sendable (Bool) -> Void,
            answerDoubt: @escaping @Sendable (Bool) -> Void,
            decide: @escaping @Sendable (ConnectionID, _ accept: Bool) -> Void,
            decideRelay: @escaping @Sendable (_ source: DeviceKey, _ relay: DeviceKey, _ accept: Bool) -> Void
        ) {
            self.decideRelay = decideRelay
            self.answerOffer = answerOffer
            self.answerDoubt = answerDoubt
            self.decide = decide
            self.write = write
            self.toggleShare = toggleShare
            self.togglePause = togglePause
        }
    }

    private let board: MeshBoard
    private let viewers: MeshViewers
    private let actions: Actions
    private let window: VideoWindow
    private let grid: ViewerGrid
    private let screenshots: Screenshots
    /// What the options ask for and this display can't do: a sentence; nil: nothing.
    public let unmetWish: String?
    private var shownVersion = -1
    private var shownNotice = 0
    private var heardCalls = 0

    private static let program = "BeamRoom"

    /// Prepares the environment for the window, and finds out whether there is a display. Call it before anything else
    /// starts.
    public static func prepare(_ options: WindowOptions) throws(DisplayError) {
        try VideoWindow.prepareEnvironment(options)
    }

    /// - Parameter whenLost: as for `ViewerWindow`.
    public init(
        _ options: WindowOptions, board: MeshBoard, viewers: MeshViewers, actions: Actions,
        whenLost: @escaping @Sendable () -> Never
    ) throws(DisplayError) {
        self.board = board
        self.viewers = viewers
        self.actions = actions
        var options = options
        options.isRoom = true
        window = try VideoWindow(options, whenLost: whenLost)
        grid = ViewerGrid(window)
        screenshots = Screenshots(window, grid)
        unmetWish = window.unmetWish(options)
        let window = self.window
        board.setWindow { window.wake() }
        viewers.setWindow { window.wake() }
    }

    /// Runs the window until the person closes it, or `MeshBoard.endWindow` does.
    public func run() {
        defer {
            board.setWindow(nil)
            viewers.setWindow(nil)
            grid.end()
            screenshots.finish()
        }
        window.run(self)
    }
}

extension MeshWindow: WindowDelegate {
    package var isOver: Bool { board.read { $0.isEnded } }

    package func handle(_ event: WindowEvent) -> Bool {
        switch event {
        case .noteWritten(let text): actions.write(.note(text))
        case .shareToggled: actions.toggleShare()
        case .pauseToggled: actions.togglePause()
        case .answered(let number, let isYes): answer(number, isYes)
        case .muteToggled, .volumeChanged: grid.focused?.changeSound(event)
        case .statistics: if let index = grid.focusIndex { grid.raise(index) }
        case .screenshotWanted: screenshots.take()
        case .escaped: window.tell("q leaves the room")
        case .quit, .codeEntered, .offerTaken, .codeGivenUp, .focusChanged, .chosen, .wake, .captions, .transcript,
            .resized, .fullscreen, .people, .addressEntered, .listWanted, .alwaysOnTop:
            break
        }
        return true
    }

    package var timeout: Duration? {
        let now = MediaTime.now
        let caption = board.read { $0.words.deadline(now: now) }.map { max(.zero, $0 - now) }
        return [grid.timeout, caption].compactMap(\.self).min()
    }

    package func update(isFirst: Bool) {
        let content = board.read { $0 }
        // Nothing of the others is shown to somebody who isn't in the room any more.
        let watched = content.farewell == nil ? viewers.watched : []
        let haveChanged = watched.map(\.id) != grid.slots.map(\.id)
        if haveChanged {
            grid.setSlots(watched.map { ViewerGrid.Slot(id: $0.id, name: $0.name, viewer: $0.viewer) })
        }
        _ = grid.update(isAll: isFirst)
        screenshots.update()
        window.commandStates = WindowCommandStates(
            isMuted: grid.focused?.isMuted, isSharing: content.isSharing, isPaused: content.isPaused)
        if content.version != shownVersion || haveChanged { show(content) }
        window.title = title(content)
        showWords()
    }

    private func show(_ content: MeshBoard.Content) {
        shownVersion = content.version
        if content.calls != heardCalls {
            heardCalls = content.calls
            window.requestAttention()
        }
        if content.farewell != nil { window.setNotice(nil) }
        // What others share would be shared from here once more.
        grid.isQuiet = content.sharesPlayedSound
        window.setPeople(content.peopleLines)
        window.setCode(content.farewell == nil ? content.web : nil)
        window.setAsk(content.ask)
        if grid.slots.isEmpty {
            window.setHeld(nil)
            window.setWarning(nil)
            window.setOverlay(nil)
            window.setMessage(content.invitation)
        }
    }

    private func answer(_ number: Int, _ isYes: Bool) {
        if number == MeshBoard.Content.doubtNumber { return actions.answerDoubt(isYes) }
        if number < 0 {
            guard let question = board.read({ $0.relayQuestion(number) }) else { return }
            return actions.decideRelay(question.source, question.relay, isYes)
        }
        guard number > 0 else { return actions.answerOffer(isYes) }
        if let connection = board.read({ $0.connection(asked: number) }) { actions.decide(connection, isYes) }
    }

    private func title(_ content: MeshBoard.Content) -> String {
        guard let room = content.room else { return Self.program }
        return "\(room)\(content.isSharing ? ", you share your screen" : "") - \(Self.program)"
    }

    private func showWords() {
        let (words, transcript) = board.takeWords()
        if transcript.isNew { window.clearTranscript() }
        window.setTranscript(heading: words.heading)
        if !transcript.lines.isEmpty { window.appendTranscript(transcript.lines) }
        window.setCaptions(words.captions(now: .now))
        window.allowsNotes = words.takesNotes
        window.noNotesReason = "Notes can be written when the room is entered"
        if words.notice.number != shownNotice {
            shownNotice = words.notice.number
            window.setNotice(nil)
            // What was said a moment before isn't true any more.
            if !board.read({ $0.farewell != nil }) { window.setNotice(words.notice.content) }
        }
    }
}
