import BeamClock
import BeamDisplay
import BeamMedia
import BeamProtocol

/// Shows the newest picture, the status while there is none, the hosts to pick from, and figures on request.
///
/// Runs on the main thread, as SDL requires.
@MainActor
public final class ViewerWindow {
    private let viewer: Viewer
    private let window: VideoWindow
    private let pane: ViewerPane
    /// What the window shows now, so that only changes are passed to it.
    private var shownChoices: [HostChoice]?
    /// When Escape was pressed while a picture was shown.
    private var escaped: MediaTime?
    /// The person has closed the question for the code without an answer, and with it the window.
    public private(set) var hasGivenUpCode = false

    /// Prepares the environment for the window, and finds out whether there is a display. Call it before `viewer` starts.
    public static func prepare(for viewer: Viewer) throws(DisplayError) {
        if let options = viewer.options.window { try VideoWindow.prepareEnvironment(options) }
    }

    /// Opens the window that `viewer`'s options ask for.
    ///
    /// - Parameter whenLost: called on a thread of its own when the X server has gone; the main thread is blocked from
    ///   then on. It has to stop `viewer` and to end the process with `_exit`.
    public init(_ viewer: Viewer, whenLost: @escaping @Sendable () -> Never) throws(DisplayError) {
        let options = viewer.options.window ?? WindowOptions()
        self.viewer = viewer
        // The decoder starts when the window is open: otherwise the display's libraries, which are small, would wait
        // for the decoder's.
        window = try VideoWindow(options, whenConnected: { viewer.decode.start() }, whenLost: whenLost)
        pane = ViewerPane(viewer, in: window)
        let window = self.window
        viewer.shared.setWindow { _ in window.wake() }
    }

    /// Runs the window until the person closes it, or `Viewer.endWindow` does.
    public func run() {
        defer { viewer.shared.setWindow(nil) }
        showState()
        // A picture may have been decoded while the window was opening.
        showPicture()
        while !viewer.shared.read({ $0.isWindowEnded }) {
            for event in window.waitForEvents(timeout: pane.captionTime) {
                switch event {
                case .quit: return
                case .chosen(let index): choose(index)
                case .codeEntered(let digits): if let code = PairingCode(digits) { viewer.enter(code) }
                case .offerTaken: viewer.askPerson()
                // At a room's door there is nothing else to go to.
                case .codeGivenUp where viewer.shared.read({ $0.status.isAtRoomDoor }):
                    hasGivenUpCode = true
                    return
                case .codeGivenUp: goBack()
                case .escaped: goBack()
                case .noteWritten(let text): viewer.write(.note(text))
                case .muteToggled, .volumeChanged: pane.changeSound(event)
                case .wake, .statistics, .captions, .transcript, .focusChanged, .resized, .fullscreen, .shareToggled,
                    .pauseToggled, .people, .answered:
                    break
                }
            }
            showState()
            showPicture()
            // After the picture, so that it doesn't wait.
            showWords()
            pane.showStatistics()
        }
    }

    /// Escape, and there is nothing to close in the window: back to the list of hosts, if the host was picked from one.
    /// A running picture isn't ended by a single key that a person may have pressed for something else.
    private func goBack() {
        guard viewer.canChooseAgain else { return window.tell("q ends") }
        let now = MediaTime.now
        guard viewer.shared.read({ !$0.status.isLive }) || escaped.map({ now - $0 < Self.escapeTime }) ?? false else {
            escaped = now
            return window.tell("Escape again goes back to the list of hosts · q ends")
        }
        escaped = nil
        viewer.chooseAgain()
        window.removePicture()
    }

    /// Within this time a second Escape is meant as the answer to the first.
    private static let escapeTime = Duration.seconds(3)

    /// Captions, transcript and notices.
    private func showWords() {
        let (words, transcript) = pane.takeWords()
        if transcript.isNew { window.clearTranscript() }
        window.setTranscript(heading: pane.heading(words))
        if !transcript.lines.isEmpty { window.appendTranscript(transcript.lines) }
        pane.showWords(words, notices: true)
    }

    private func showPicture() {
        guard let picture = viewer.slot.takeIfPresent(), !viewer.shared.read({ $0.status.isOver }) else { return }
        // Of a host that was given up.
        guard shownChoices == nil else { return }
        guard window.show(picture) else { return }
        viewer.pictureShown(picture, at: .now)
    }

    private func choose(_ index: Int) {
        guard let choices = shownChoices, choices.indices.contains(index) else { return }
        if let command = choices[index].roomCommand {
            // A room has a window of its own.
            window.setNotice(nil)
            window.setNotice(WindowNotice(text: "To enter this room, run: \(command)", time: .seconds(15)))
        } else {
            viewer.choose(choices[index])
        }
    }

    private static func detail(_ choice: HostChoice) -> String {
        guard let members = choice.members else { return choice.addresses.first ?? "" }
        return "Room, \(members == 1 ? "1 person" : "\(members) people")"
    }

    private func showState() {
        let (status, choices) = viewer.shared.read { ($0.status, $0.choices) }
        window.hasList = viewer.canChooseAgain
        window.setCodeEntry(ViewerPane.prompt(status))
        if choices != shownChoices {
            shownChoices = choices
            window.setPicker(
                choices.map { choices in
                    choices.map { PickerEntry(name: PeerText.name($0.name), detail: Self.detail($0)) }
                })
        }
        pane.showStatus(status)
    }
}
