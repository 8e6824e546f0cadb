import BeamClock
import BeamDisplay
import BeamMedia
import BeamProtocol

/// Shows several hosts in one window: all of them in a grid, or one alone.
///
/// Words, figures and questions are those of the host in focus; what concerns another one is said in its tile. Runs on the
/// main thread, as SDL requires.
@MainActor
public final class WallWindow {
    private let wall: ViewerWall
    private let window: VideoWindow
    private let grid: ViewerGrid
    private var hosts: [Host]
    /// The host whose code is asked for in the window.
    private var asked: Int?

    private struct Host {
        /// The person hasn't given its code; it is asked for again when the host is shown alone.
        var isGivenUp = false
        /// The number of the last notice that was shown.
        var notice = 0
    }

    /// Prepares the environment for the window, and finds out whether there is a display. Call it before the wall starts.
    public static func prepare(for wall: ViewerWall) throws(DisplayError) {
        if let options = wall.window { try VideoWindow.prepareEnvironment(options) }
    }

    /// Opens the window that the wall's options ask for.
    ///
    /// - Parameter whenLost: as for `ViewerWindow`.
    public init(_ wall: ViewerWall, whenLost: @escaping @Sendable () -> Never) throws(DisplayError) {
        self.wall = wall
        var options = wall.window ?? WindowOptions()
        options.sources = wall.viewers.count
        window = try VideoWindow(options, whenConnected: { wall.startDecoding() }, whenLost: whenLost)
        grid = ViewerGrid(window)
        hosts = wall.viewers.map { _ in Host() }
        grid.setSlots(
            zip(wall.names, wall.viewers).enumerated().map { index, host in
                ViewerGrid.Slot(id: index, name: host.0, viewer: host.1)
            })
    }

    /// Runs the window until the person closes it, or `ViewerWall.endWindow` does.
    public func run() {
        defer { grid.end() }
        update(isAll: true)
        while !wall.viewers[0].shared.read({ $0.isWindowEnded }) {
            for event in window.waitForEvents(timeout: timeout) {
                switch event {
                case .quit: return
                case .codeEntered(let digits): if let code = PairingCode(digits) { answer { $0.enter(code) } }
                case .offerTaken:
                    if asked != nil { answer { $0.askPerson() } } else { grid.focused?.viewer.askPerson() }
                case .codeGivenUp: giveUpCode()
                case .escaped: window.tell("q ends")
                case .noteWritten(let text): grid.focused?.viewer.write(.note(text))
                case .muteToggled, .volumeChanged: grid.focused?.changeSound(event)
                case .focusChanged, .chosen, .wake, .statistics, .captions, .transcript, .resized, .fullscreen,
                    .shareToggled, .pauseToggled, .people, .answered:
                    break
                }
            }
            update()
        }
    }

    /// Until something has to change by itself.
    private var timeout: Duration? { [grid.timeout, grid.focused?.captionTime].compactMap(\.self).min() }

    private func update(isAll: Bool = false) {
        let update = grid.update(isAll: isAll) { index, words in
            if words?.state == TileText.codeNeeded, hosts[index].isGivenUp {
                words?.detail = "Show it alone to type it."
            }
            let status = wall.viewers[index].shared.read { $0.status }
            if status.retry != nil, let headline = status.words?.headline {
                words?.detail = "\(headline). Show it alone to try again."
            }
        }
        updateWords(update.news)
        if update.hasMoved || !update.news.isEmpty { updateQuestion() }
    }

    // MARK: Words

    private func updateWords(_ news: [Int]) {
        for (index, pane) in grid.panes.enumerated() {
            let isFocus = index == grid.focusIndex
            guard isFocus || news.contains(index) else { continue }
            let (words, transcript) = pane.takeWords()
            window.setTranscript(
                of: index, heading: pane.heading(words), adding: transcript.lines, isNew: transcript.isNew)
            if words.notice.number != hosts[index].notice {
                hosts[index].notice = words.notice.number
                show(words.notice.content, of: index)
            }
            if isFocus { pane.showWords(words, notices: false) }
        }
    }

    /// A notice of the host that is shown alone is at the window's edge, that of another one beside its name.
    private func show(_ notice: WindowNotice?, of index: Int) {
        if grid.focus.isAlone, index == grid.focusIndex {
            window.setNotice(nil)
            window.setNotice(notice)
        }
        grid.setNews(notice?.text, for: notice?.time ?? Self.newsTime, at: index)
    }

    private static let newsTime = Duration.seconds(6)

    // MARK: Questions

    /// Asks for one host's code at a time: in the grid for each in turn, else for the one that is shown.
    private func updateQuestion() {
        // A host that has refused is asked again only where it is shown alone.
        let prompts = wall.viewers.map { viewer in
            let status = viewer.shared.read { $0.status }
            return status.isRefused && !grid.focus.isAlone ? nil : ViewerPane.prompt(status)
        }
        let next: Int? =
            if grid.focus.isAlone {
                grid.focusIndex.flatMap { prompts[$0] == nil ? nil : $0 }
            } else if let asked, prompts[asked] != nil, !hosts[asked].isGivenUp {
                // Not another one's while the person types.
                asked
            } else {
                prompts.indices.first { prompts[$0] != nil && !hosts[$0].isGivenUp }
            }
        // What was typed for one host isn't another one's.
        if next != asked { window.setCodeEntry(nil) }
        asked = next
        window.setCodeEntry(next.flatMap { prompts[$0] })
    }

    private func answer(_ give: (Viewer) -> Void) {
        guard let asked else { return }
        hosts[asked].isGivenUp = false
        give(wall.viewers[asked])
    }

    /// The person doesn't give the code: the others go on.
    private func giveUpCode() {
        guard let asked else { return }
        hosts[asked].isGivenUp = true
        grid.raise(asked)
        window.setCodeEntry(nil)
        window.showAll()
    }
}
