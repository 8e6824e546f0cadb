import BeamClock
import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire

/// A receiver's window: how to send a screen here and the code, or the screen that is shown. Runs on the main thread, as
/// SDL requires.
@MainActor
public final class StationWindow {
    private let station: Station
    private let window: VideoWindow
    private let grid: ViewerGrid
    private var shownState: StationSession.State?
    private var shownMessage: WindowMessage?
    private var shownNotice = 0
    private var lastEnd = 0
    /// When the person has ended something: keys that were meant for that end nothing else.
    private var ended: MediaTime?

    /// Where receivers listen if nothing else is said.
    nonisolated public static let usualPort: UInt16 = 52349

    private static let program = "BeamRoom"
    /// Within this time a second key is meant like the first one.
    private static let keyTime = Duration.seconds(2)
    private static let endTime = Duration.seconds(10)

    /// Prepares the environment for the window, and finds out whether there is a display.
    public static func prepare(_ options: WindowOptions) throws(DisplayError) {
        try VideoWindow.prepareEnvironment(options)
    }

    /// - Parameter whenLost: as for `ViewerWindow`.
    public init(
        _ options: WindowOptions, _ station: Station, whenLost: @escaping @Sendable () -> Never
    ) throws(DisplayError) {
        self.station = station
        var options = options
        options.isReceiver = true
        window = try VideoWindow(options, whenLost: whenLost)
        grid = ViewerGrid(window)
        grid.setSlots([])
        let window = self.window
        station.setWindow { window.wake() }
    }

    /// Runs the window until the person closes it while nothing is shown, or `Station.endWindow` is called.
    public func run() {
        defer {
            station.setWindow(nil)
            grid.end()
        }
        while true {
            window.run(self)
            guard !isOver else { return }
            // The same key that has ended a screen, pressed once more.
            let isEcho = ended.map { MediaTime.now - $0 < Self.keyTime } ?? false
            guard endShowing() || isEcho else { return }
        }
    }

    private func endShowing() -> Bool {
        guard station.endShowing() else { return false }
        ended = .now
        return true
    }
}

extension StationWindow: WindowDelegate {
    package var isOver: Bool { station.read { $0.isOver } }

    package var timeout: Duration? { [grid.timeout, grid.focused?.captionTime].compactMap(\.self).min() }

    package func handle(_ event: WindowEvent) -> Bool {
        switch event {
        case .escaped:
            let isEcho = ended.map { MediaTime.now - $0 < Self.keyTime } ?? false
            if !endShowing(), !isEcho { window.tell("q ends the receiver") }
        case .noteWritten(let text): grid.focused?.viewer.write(.note(text))
        case .muteToggled, .volumeChanged: grid.focused?.changeSound(event)
        case .statistics: if let index = grid.focusIndex { grid.raise(index) }
        default: break
        }
        return true
    }

    package func update(isFirst: Bool) {
        let content = station.read { $0 }
        let shown = content.shown.map { [$0] } ?? []
        let haveChanged = isFirst || shown.map(\.number) != grid.slots.map(\.id)
        if haveChanged {
            grid.setSlots(shown.map { ViewerGrid.Slot(id: $0.number, name: nil, viewer: $0.viewer) })
            clear()
        }
        let update = grid.update(isAll: isFirst)
        if shown.isEmpty { show(Self.message(content, station.options)) } else { shownMessage = nil }
        if let last = content.last, last.number != lastEnd {
            lastEnd = last.number
            // Whoever presses a key knows what it has done.
            if ended.map({ MediaTime.now - $0 >= Self.keyTime }) ?? true {
                window.setNotice(nil)
                window.setNotice(WindowNotice(text: last.words, time: Self.endTime))
            }
        }
        if !update.news.isEmpty { showWords() }
    }

    /// What was another sender's isn't to be seen any more.
    private func clear() {
        shownNotice = 0
        window.setHeld(nil)
        window.setWarning(nil)
        window.setOverlay(nil)
        window.setCaptions([])
        window.allowsNotes = false
        window.noNotesReason = "Notes can be written while a screen is shown"
        window.title = Self.program
    }

    private func show(_ message: WindowMessage) {
        guard message != shownMessage else { return }
        shownMessage = message
        window.setMessage(message)
    }

    private func showWords() {
        guard let pane = grid.focused, let index = grid.focusIndex else { return }
        let (words, transcript) = pane.takeWords()
        window.setTranscript(
            of: grid.slots[index].id, heading: pane.heading(words), adding: transcript.lines, isNew: transcript.isNew)
        if words.notice.number != shownNotice {
            shownNotice = words.notice.number
            window.setNotice(nil)
            window.setNotice(words.notice.content)
        }
        pane.showWords(words)
    }

    /// What there is to read while no screen is shown.
    static func message(_ content: Station.Content, _ options: Station.Options) -> WindowMessage {
        switch content.state {
        case .awaiting(let sender), .showing(let sender):
            return WindowMessage(
                headline: "“\(sender.name)” is about to show its screen", detail: "Escape declines.")
        case .waiting(let code):
            let targets = [
                StationText.target(
                    name: content.isAnnounced ? content.name : nil, address: nil, port: 0, usualPort: usualPort),
                StationText.target(name: nil, address: content.address, port: content.port, usualPort: usualPort),
            ].compactMap { $0 }
            guard !targets.isEmpty else {
                return WindowMessage(
                    headline: content.name, detail: "This machine has no address on a network at present.")
            }
            let commands = targets.map { "beamroom share --to \($0)" }.joined(separator: "\nor ")
            let end = code == nil ? "Only devices that were paired before are shown." : "and type this code."
            return WindowMessage(
                headline: content.name, detail: "To show your screen here, run on your machine:\n\(commands)\n\(end)",
                code: code?.description)
        }
    }
}
