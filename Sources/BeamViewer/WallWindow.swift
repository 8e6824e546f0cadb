import BeamClock
import BeamDisplay
import BeamMedia
import BeamProtocol
import Synchronization

/// Shows several hosts in one window: all of them in a grid, or one alone.
///
/// Words, figures and questions are those of the host in focus; what concerns another one is said in its tile. Runs on the
/// main thread, as SDL requires.
@MainActor
public final class WallWindow {
    private let wall: ViewerWall
    private let window: VideoWindow
    private let news = NewsFlags()
    private var panes: [ViewerPane]
    private var hosts: [Host]
    /// The host whose code is asked for in the window.
    private var asked: Int?
    private var shownSizes = ShownSizes()
    private var focus: VideoWindow.Focus

    /// What the grid shows of one host.
    private struct Host {
        var source: WindowSource
        /// The person hasn't given its code; it is asked for again when the host is shown alone.
        var isGivenUp = false
        /// The number of the last notice that was shown, and until when.
        var notice = 0
        var newsUntil: MediaTime?
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
        let (window, news) = (self.window, self.news)
        panes = wall.viewers.map { ViewerPane($0, in: window, isNew: true) }
        hosts = wall.names.enumerated().map { Host(source: WindowSource(id: $0, name: $1)) }
        window.setSources(hosts.map(\.source))
        focus = window.focus
        for (index, viewer) in wall.viewers.enumerated() {
            viewer.shared.setWindow { kind in
                news.raise(kind, of: index)
                window.wake()
            }
        }
    }

    /// Runs the window until the person closes it, or `ViewerWall.endWindow` does.
    public func run() {
        defer { for viewer in wall.viewers { viewer.shared.setWindow(nil) } }
        update(NewsFlags.all, pictures: NewsFlags.all)
        while !wall.viewers[0].shared.read({ $0.isWindowEnded }) {
            for event in window.waitForEvents(timeout: timeout) {
                switch event {
                case .quit: return
                case .codeEntered(let digits): if let code = PairingCode(digits) { answer { $0.enter(code) } }
                case .offerTaken: answer { $0.askPerson() }
                case .codeGivenUp: giveUpCode()
                case .noteWritten(let text): focused?.viewer.write(.note(text))
                case .focusChanged, .chosen, .wake, .statistics, .captions, .transcript, .resized, .fullscreen: break
                }
            }
            let (states, pictures) = news.take()
            update(states, pictures: pictures)
        }
    }

    private var focused: ViewerPane? { focus.source.flatMap { panes.indices.contains($0) ? panes[$0] : nil } }

    /// Until something has to change by itself.
    private var timeout: Duration? {
        let now = MediaTime.now
        let times = hosts.compactMap(\.newsUntil).map { max(.zero, $0 - now) }
        return (times + [focused?.captionTime, shownSizes.wait(now: now)].compactMap(\.self)).min()
    }

    /// `states`, `pictures`: bit sets of the hosts that have something new.
    private func update(_ states: UInt64, pictures: UInt64) {
        let hasMoved = window.focus != focus
        focus = window.focus
        updateTiles(states)
        // A picture may come with the state that announces it.
        showPictures(pictures | states)
        updateWords(states)
        if let pane = focused {
            if focus.isAlone {
                if hasMoved || states & 1 << UInt64(focus.source ?? 0) != 0 { showAlone(pane) }
            } else if hasMoved {
                pane.showInGrid()
            }
            if hasMoved || states & 1 << UInt64(focus.source ?? 0) != 0 { pane.showStatistics() }
        }
        if hasMoved || states != 0 { updateQuestion() }
        if let sizes = shownSizes.update(window.layoutVersion, now: .now, sizes: { window.shownSizes }) {
            for (index, size) in sizes { wall.viewers[index].setShownSize(size) }
        }
    }

    private func showAlone(_ pane: ViewerPane) { pane.showStatus(pane.viewer.shared.read { $0.status }) }

    // MARK: Tiles

    private func updateTiles(_ states: UInt64) {
        let now = MediaTime.now
        guard states != 0 || hosts.contains(where: { $0.newsUntil.map { $0 <= now } ?? false }) else { return }
        for index in hosts.indices {
            if let until = hosts[index].newsUntil, until <= now {
                hosts[index].newsUntil = nil
                hosts[index].source.news = nil
            }
            guard states & 1 << UInt64(index) != 0 else { continue }
            let status = wall.viewers[index].shared.read { $0.status }
            var words = status.tileWords
            if words?.state == TileWords.codeNeeded, hosts[index].isGivenUp {
                words?.detail = "Show it alone to type it."
            }
            hosts[index].source.name = status.hostName ?? wall.names[index]
            hosts[index].source.state = words?.state
            hosts[index].source.detail = words?.detail
            hosts[index].source.isFault = words?.isFault ?? false
            hosts[index].source.isHeld = status.isPaused
            hosts[index].source.warning = status.isUnencrypted ? "not encrypted" : nil
        }
        window.setSources(hosts.map(\.source))
    }

    private func showPictures(_ news: UInt64) {
        var pictures: [(source: Int, picture: Picture)] = []
        for (index, viewer) in wall.viewers.enumerated() where news & 1 << UInt64(index) != 0 {
            if let picture = viewer.slot.takeIfPresent() { pictures.append((index, picture)) }
        }
        guard !pictures.isEmpty else { return }
        let shown = window.show(pictures)
        let end = MediaTime.now
        for (index, picture) in pictures where shown.contains(index) {
            wall.viewers[index].shared.change { $0.presentation.record(picture, at: end) }
        }
    }

    // MARK: Words

    private func updateWords(_ states: UInt64) {
        for (index, pane) in panes.enumerated() {
            let isFocus = index == focus.source
            guard isFocus || states & 1 << UInt64(index) != 0 else { continue }
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
        if focus.isAlone, index == focus.source {
            window.setNotice(nil)
            window.setNotice(notice)
        }
        hosts[index].source.news = notice?.text
        hosts[index].newsUntil = notice.map { .now + ($0.time ?? Self.newsTime) }
        window.setSources(hosts.map(\.source))
    }

    private static let newsTime = Duration.seconds(6)

    // MARK: Questions

    /// Asks for one host's code at a time: in the grid for each in turn, else for the one that is shown.
    private func updateQuestion() {
        let prompts = wall.viewers.map { viewer in ViewerPane.prompt(viewer.shared.read { $0.status }) }
        let next: Int? =
            if focus.isAlone {
                focus.source.flatMap { prompts[$0] == nil ? nil : $0 }
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
        news.raise(.state, of: asked)
        window.setCodeEntry(nil)
        window.showAll()
    }
}

/// Which hosts have something new for the window. Raised by any thread, taken by the main thread.
private final class NewsFlags: Sendable {
    static let all = UInt64.max

    private let states = Atomic<UInt64>(0)
    private let pictures = Atomic<UInt64>(0)

    func raise(_ kind: ViewerState.News, of index: Int) {
        let bit = UInt64(1) << UInt64(index)
        switch kind {
        case .state: states.bitwiseOr(bit, ordering: .releasing)
        case .picture: pictures.bitwiseOr(bit, ordering: .releasing)
        }
    }

    func take() -> (states: UInt64, pictures: UInt64) {
        (states.exchange(0, ordering: .acquiring), pictures.exchange(0, ordering: .acquiring))
    }
}

/// When the hosts are told in which size they are shown: at once at first, and then when the sizes have been the same
/// for a moment, so that a person who drags the window's edge doesn't cause a new size for each step.
private struct ShownSizes {
    private static let settlingTime = Duration.milliseconds(250)

    private var version: Int?
    private var due: MediaTime?
    private var last: [Int: PixelSize] = [:]

    func wait(now: MediaTime) -> Duration? { due.map { max(.zero, $0 - now) } }

    /// The sizes to tell, of the hosts whose size has changed; nil: nothing to tell now.
    mutating func update(_ version: Int, now: MediaTime, sizes: () -> [Int: PixelSize]) -> [Int: PixelSize]? {
        if version != self.version {
            due = self.version == nil ? now : now + Self.settlingTime
            self.version = version
        }
        guard let due, due <= now else { return nil }
        self.due = nil
        let sizes = sizes()
        let changed = sizes.filter { last[$0] != $1 }
        last = sizes
        return changed
    }
}
