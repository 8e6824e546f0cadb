import BeamClock
import BeamDisplay
import BeamMedia
import BeamWire

/// Shows one host or several: each one's newest picture, or its status while there is none, and the hosts to pick from.
///
/// Words, figures and questions are those of the host in focus; what concerns another one is said in its tile. Runs on the
/// main thread, as SDL requires.
@MainActor
public final class ViewerWindow {
    private let viewers: [Viewer]
    private let window: VideoWindow
    private let grid: ViewerGrid
    private let screenshots: Screenshots
    private var hosts: [Host]
    /// The host whose code is asked for in the window.
    private var asked: Int?
    /// What the window shows now, so that only changes are passed to it.
    private var shownChoices: [HostChoice]?
    /// When Escape was pressed while a picture was shown.
    private var escaped: MediaTime?
    /// The person has closed the question for the code of a room's door without an answer, and with it the window.
    public private(set) var hasGivenUpCode = false
    /// What the options ask for and this display can't do: a sentence; nil: nothing.
    public let unmetWish: String?

    private struct Host {
        /// The person hasn't given its code; it is asked for again when the host is shown alone.
        var isGivenUp = false
        /// The number of the last notice that was shown.
        var notice = 0
    }

    /// Prepares the environment for the window, and finds out whether there is a display. Call it before `viewer` starts.
    public static func prepare(for viewer: Viewer) throws(DisplayError) {
        if let options = viewer.options.window { try VideoWindow.prepareEnvironment(options) }
    }

    /// The same for the viewers of a wall.
    public static func prepare(for wall: ViewerWall) throws(DisplayError) {
        if let options = wall.window { try VideoWindow.prepareEnvironment(options) }
    }

    /// Opens the window that `viewer`'s options ask for.
    ///
    /// - Parameter whenLost: called on a thread of its own when the X server has gone; the main thread is blocked from
    ///   then on. It has to stop `viewer` and to end the process with `_exit`.
    public convenience init(_ viewer: Viewer, whenLost: @escaping @Sendable () -> Never) throws(DisplayError) {
        try self.init([(nil, viewer)], viewer.options.window, whenLost: whenLost)
    }

    /// Opens the window that the wall's options ask for.
    ///
    /// - Parameter whenLost: the same for all of its viewers.
    public convenience init(_ wall: ViewerWall, whenLost: @escaping @Sendable () -> Never) throws(DisplayError) {
        try self.init(Array(zip(wall.names, wall.viewers)), wall.window, whenLost: whenLost)
    }

    private init(
        _ hosts: [(name: String?, viewer: Viewer)], _ options: WindowOptions?, whenLost: @escaping @Sendable () -> Never
    ) throws(DisplayError) {
        viewers = hosts.map(\.viewer)
        self.hosts = hosts.map { _ in Host() }
        var options = options ?? WindowOptions()
        options.sources = hosts.count
        // The decoders start when the window is open: otherwise the display's libraries, which are small, would wait
        // for the decoder's.
        window = try VideoWindow(
            options, whenConnected: { for host in hosts { host.viewer.decode.open() } }, whenLost: whenLost)
        grid = ViewerGrid(window)
        screenshots = Screenshots(window, grid)
        unmetWish = window.unmetWish(options)
        grid.setSlots(
            hosts.enumerated().map { ViewerGrid.Slot(id: $0, name: $1.name, viewer: $1.viewer) })
    }

    /// Runs the window until the person closes it, or `endWindow` of the viewer or the wall does.
    public func run() {
        defer {
            grid.end()
            screenshots.finish()
        }
        window.run(self)
    }

    /// The only one, which the person may have picked from a list.
    private var only: Viewer? { viewers.count == 1 ? viewers[0] : nil }
}

extension ViewerWindow: WindowDelegate {
    package var isOver: Bool { viewers[0].shared.read { $0.isWindowEnded } }

    package var timeout: Duration? { [grid.timeout, grid.focused?.captionTime].compactMap(\.self).min() }

    package func handle(_ event: WindowEvent) -> Bool {
        switch event {
        case .chosen(let index): choose(index)
        case .addressEntered(let text): only?.choose(typed: text)
        case .listWanted: goToList()
        case .screenshotWanted: screenshots.take()
        case .codeEntered(let digits): if let code = PairingCode(digits) { answer { $0.enter(code) } }
        case .offerTaken: if asked != nil { answer { $0.askPerson() } } else { tryAgain() }
        case .codeGivenUp: return giveUpCode()
        case .escaped: goBack()
        case .noteWritten(let text): grid.focused?.viewer.write(.note(text))
        case .muteToggled, .volumeChanged: grid.focused?.changeSound(event)
        case .statistics: if let index = grid.focusIndex { grid.raise(index) }
        case .quit, .focusChanged, .wake, .captions, .transcript, .resized, .fullscreen, .shareToggled, .pauseToggled,
            .people, .answered, .alwaysOnTop:
            break
        }
        return true
    }

    package func update(isFirst: Bool) {
        if let only { showChoices(of: only) }
        let update = grid.update(isAll: isFirst) { index, words in
            if words?.state == TileText.codeNeeded, hosts[index].isGivenUp {
                words?.detail = "Show it alone to type it."
            }
            let status = viewers[index].shared.read { $0.status }
            if status.retry != nil, let headline = status.words?.headline {
                words?.detail = "\(headline). Show it alone to try again."
            }
        }
        screenshots.update()
        window.commandStates.isMuted = grid.focused?.isMuted
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
            if isFocus { pane.showWords(words) }
        }
    }

    /// A notice of the host that is shown alone is at the window's edge, that of another one beside its name.
    private func show(_ notice: WindowNotice?, of index: Int) {
        if grid.focus.isAlone, index == grid.focusIndex {
            window.setNotice(nil)
            window.setNotice(notice)
        }
        // Drawn in a tile, which the only host doesn't have.
        if hosts.count > 1 { grid.setNews(notice?.text, for: notice?.time ?? Self.newsTime, at: index) }
    }

    private static let newsTime = Duration.seconds(6)

    // MARK: Questions

    /// Asks for one host's code at a time: in the grid for each in turn, else for the one that is shown.
    private func updateQuestion() {
        // A host that has refused is asked again only where it is shown alone.
        let prompts = viewers.map { viewer in
            let status = viewer.shared.read { $0.status }
            return status.isRefused && !grid.focus.isAlone
                ? nil : ViewerPane.prompt(status, hasList: viewer.canChooseAgain)
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
        give(viewers[asked])
    }

    /// At once, without waiting for the next attempt.
    private func tryAgain() {
        guard let viewer = grid.focused?.viewer else { return }
        window.tell("Trying again…")
        viewer.tryAgain()
    }

    /// The person doesn't give the code. Of several hosts the others go on; at a room's door there is nothing else to go
    /// to, which ends the window.
    private func giveUpCode() -> Bool {
        if let only {
            hasGivenUpCode = only.shared.read { $0.status.isAtRoomDoor }
            if !hasGivenUpCode { goBack() }
            return !hasGivenUpCode
        }
        guard let asked else { return true }
        hosts[asked].isGivenUp = true
        grid.raise(asked)
        window.setCodeEntry(nil)
        window.showAll()
        return true
    }

    // MARK: The list of hosts

    private func showChoices(of viewer: Viewer) {
        let choices = viewer.shared.read { $0.choices }
        window.hasList = viewer.canChooseAgain
        guard choices != shownChoices else { return }
        shownChoices = choices
        var check: ((String) -> AddressVerdict)?
        if let read = viewer.options.readAddress { check = { Self.verdict(read($0)) } }
        window.setPicker(
            choices.map { choices in
                choices.map {
                    PickerEntry(name: PeerText.name($0.name), detail: Self.detail($0), isAway: $0.away != nil)
                }
            }, checkAddress: check)
    }

    private static func verdict(_ reading: ViewerOptions.AddressReading) -> AddressVerdict {
        switch reading {
        case .target(_, nil): .good
        case .target(_, let doubt?): .doubtful(doubt)
        case .refused(let reason): .bad(reason)
        }
    }

    private static func detail(_ choice: HostChoice) -> String {
        if let away = choice.away {
            return "Not found now · \(away.wasWatched ? "watched" : "paired") \(PastDay.words(away.since))"
        }
        guard let members = choice.members else { return choice.addresses.first ?? "" }
        return "Room, \(members == 1 ? "1 person" : "\(members) people")"
    }

    private func choose(_ index: Int) {
        guard let choices = shownChoices, choices.indices.contains(index) else { return }
        if let command = choices[index].roomCommand {
            // A room has a window of its own.
            window.setNotice(nil)
            window.setNotice(WindowNotice(text: "To enter this room, run: \(command)", time: .seconds(15)))
        } else {
            only?.choose(choices[index])
        }
    }

    /// Escape, and there is nothing to close in the window: back to the list of hosts, if the host was picked from one.
    /// A running picture isn't ended by a single key that a person may have pressed for something else.
    private func goBack() {
        guard let only, only.canChooseAgain else { return window.tell("q ends") }
        let now = MediaTime.now
        guard only.shared.read({ !$0.status.isLive }) || escaped.map({ now - $0 < Self.escapeTime }) ?? false else {
            escaped = now
            return window.tell("Escape again goes back to the list of hosts · q ends")
        }
        escaped = nil
        goToList()
    }

    /// Ends watching the host, and shows the list again.
    private func goToList() {
        guard let only, only.canChooseAgain else { return }
        only.chooseAgain()
        window.forgetPicture()
    }

    /// Within this time a second Escape is meant as the answer to the first.
    private static let escapeTime = Duration.seconds(3)
}
