import BeamClock
import BeamDisplay
import BeamMedia
import Synchronization

/// Shows viewers in a window: several in a grid, or one alone. What the tiles say beyond the viewers' states,
/// and everything else in the window, is its owner's. Main thread.
@MainActor final class ViewerGrid {
    /// A viewer's place in the window.
    struct Slot: Sendable {
        /// Never given to another viewer.
        var id: Int
        /// The owner's name for what is watched, until its host says another one; nil: none is shown
        /// beside the picture.
        var name: String?
        var viewer: Viewer
    }

    /// What an update has found.
    struct Update {
        /// Another viewer is in focus, or the grid has come or gone.
        var hasMoved: Bool
        /// The places in the grid that have news.
        var news: [Int]
    }

    /// What a tile says for a moment beside its name.
    private struct TileNews {
        var words: String
        var until: MediaTime
    }

    private let window: VideoWindow
    private let flags = NewsFlags()
    private(set) var slots: [Slot] = []
    private(set) var panes: [ViewerPane] = []
    private var sources: [WindowSource] = []
    /// What each viewer's window shows of its pictures and patches, by the places' IDs.
    private var exact: [Int: ExactPicture] = [:]
    private var tileNews: [Int: TileNews] = [:]
    private var shownSizes = ShownSizes()
    private(set) var focus: VideoWindow.Focus
    private var hasMoved = true
    /// No viewer is heard.
    var isQuiet = false {
        didSet { if isQuiet != oldValue { chooseAudible() } }
    }

    init(_ window: VideoWindow) {
        self.window = window
        focus = window.focus
    }

    /// Shows these viewers. Those that were shown before keep their pictures.
    func setSlots(_ new: [Slot]) {
        for slot in slots where !new.contains(where: { $0.id == slot.id }) { slot.viewer.shared.setWindow(nil) }
        let (window, flags) = (self.window, self.flags)
        panes = new.map { slot in
            if let index = slots.firstIndex(where: { $0.id == slot.id }) { return panes[index] }
            slot.viewer.shared.setWindow { kind in
                flags.raise(kind, of: slot.id)
                window.wake()
            }
            // What came before is news, too.
            flags.raise(.state, of: slot.id)
            return ViewerPane(slot.viewer, in: window)
        }
        sources = new.map { slot in
            sources.first { $0.id == slot.id } ?? WindowSource(id: slot.id, name: slot.name)
        }
        slots = new
        tileNews = tileNews.filter { id, _ in new.contains { $0.id == id } }
        exact = exact.filter { id, _ in new.contains { $0.id == id } }
        window.setSources(sources)
        hasMoved = true
    }

    /// The viewers go on without the window.
    func end() { for slot in slots { slot.viewer.shared.setWindow(nil) } }

    /// The place in the grid of the viewer in focus.
    var focusIndex: Int? { focus.source.flatMap { id in slots.firstIndex { $0.id == id } } }

    var focused: ViewerPane? { focusIndex.map { panes[$0] } }

    /// Until something has to change by itself.
    var timeout: Duration? {
        let now = MediaTime.now
        return
            (tileNews.values.map { max(.zero, $0.until - now) } + exact.values.compactMap(\.timeout)
            + [shownSizes.wait(now: now)].compactMap(\.self)).min()
    }

    /// A viewer's tile or figures have something new to say.
    func raise(_ index: Int) { flags.raise(.state, of: slots[index].id) }

    /// Says something beside a viewer's name for a while.
    func setNews(_ words: String?, for time: Duration, at index: Int) {
        tileNews[slots[index].id] = words.map { TileNews(words: $0, until: .now + time) }
        sources[index].news = words
        window.setSources(sources)
    }

    // MARK: Updates

    /// Passes on what the viewers have: states and pictures, of the one in focus also messages and figures; and tells
    /// them in which size they are shown.
    ///
    /// - Parameters:
    ///   - isAll: everything is new.
    ///   - words: may change what a tile says in place of a picture.
    func update(isAll: Bool = false, words: (Int, inout TileText?) -> Void = { _, _ in }) -> Update {
        let (states, pictures) = isAll ? (NewsFlags.all, NewsFlags.all) : flags.take()
        hasMoved = hasMoved || window.focus != focus
        focus = window.focus
        updateTiles(states, words)
        // A picture may come with the state that announces it.
        showPictures(pictures | states)
        askForExact()
        if hasMoved { chooseAudible() }
        let update = Update(
            hasMoved: hasMoved, news: slots.indices.filter { states & NewsFlags.bit(slots[$0].id) != 0 })
        if let index = focusIndex, hasMoved || update.news.contains(index) {
            let pane = panes[index]
            if focus.isAlone {
                pane.showStatus(pane.viewer.shared.read { $0.status })
            } else if hasMoved {
                pane.showInGrid()
            }
            pane.showStatistics(of: sources[index].name)
        }
        hasMoved = false
        let changed = shownSizes.update(window.layoutVersion, now: .now) {
            let sizes = window.shownSizes
            // To the only one the window is fitted.
            return Dictionary(
                uniqueKeysWithValues: slots.map { ($0.id, slots.count > 1 ? sizes[$0.id] : nil) })
        }
        for slot in slots { if let size = changed[slot.id] { slot.viewer.setShownSize(size) } }
        return update
    }

    /// The viewer in focus is heard.
    private func chooseAudible() {
        for (index, slot) in slots.enumerated() { slot.viewer.setAudible(!isQuiet && index == focusIndex) }
    }

    private func updateTiles(_ states: UInt64, _ change: (Int, inout TileText?) -> Void) {
        let now = MediaTime.now
        guard states != 0 || tileNews.values.contains(where: { $0.until <= now }) else { return }
        for (index, slot) in slots.enumerated() {
            if let news = tileNews[slot.id], news.until <= now {
                tileNews[slot.id] = nil
                sources[index].news = nil
            }
            guard states & NewsFlags.bit(slot.id) != 0 else { continue }
            let status = slot.viewer.shared.read { $0.status }
            var words = status.tileWords
            change(index, &words)
            sources[index].name = slot.name.map { status.hostName ?? $0 }
            sources[index].state = words?.state
            sources[index].detail = words?.detail
            sources[index].isFault = words?.isFault ?? false
            sources[index].isHeld = status.isPaused
            sources[index].isWithheld = status.sourceVisibility != .visible
            if status.isOver {
                window.forgetPicture(of: slot.id)
                exact[slot.id] = nil
            }
            sources[index].warning = status.isUnencrypted ? "not encrypted" : status.relayWords
        }
        window.setSources(sources)
    }

    /// What is to be shown of what has come.
    private func picture(
        of slot: Slot, _ picture: Picture?, _ patches: [ReceivedPatch], dropped: DroppedChanges?
    ) -> Picture? {
        guard slot.viewer.patches != nil else { return picture }
        let own = exact[slot.id] ?? ExactPicture()
        exact[slot.id] = own
        defer { own.take(slot.viewer.patches?.takeHashes() ?? []) }
        return own.take(picture, patches, dropped: dropped)
    }

    /// Asks the hosts for what the window hasn't exactly, and tells the viewers how much it has.
    private func askForExact() {
        for slot in slots {
            guard let own = exact[slot.id] else { continue }
            let wanted = own.takeWanted()
            if !wanted.isEmpty { slot.viewer.wantExact(wanted) }
            if own.takeHashRequest() { slot.viewer.wantHashes() }
            own.compareSome()
            let exactness = own.exactness
            if exactness != own.told {
                own.told = exactness
                slot.viewer.shared.change { $0.exactness = exactness }
            }
        }
    }

    private func showPictures(_ news: UInt64) {
        var pictures: [(source: Int, picture: Picture)] = []
        for slot in slots where news & NewsFlags.bit(slot.id) != 0 || exact[slot.id]?.isDue == true {
            if let pointer = slot.viewer.pointer?.take() { window.setPointer(pointer, of: slot.id) }
            let (patches, dropped) = slot.viewer.patches?.takeAll() ?? ([], nil)
            let decoded = slot.viewer.slot.takeIfPresent()
            guard let picture = picture(of: slot, decoded, patches, dropped: dropped) else { continue }
            // Nothing of a host that has refused or was given up.
            if slot.viewer.shared.read({ !$0.status.isOver && $0.choices == nil }) {
                pictures.append((slot.id, picture))
            }
        }
        guard !pictures.isEmpty else { return }
        let shown = window.show(pictures)
        let end = MediaTime.now
        for (id, picture) in pictures where shown.contains(id) {
            slots.first { $0.id == id }?.viewer.pictureShown(picture, at: end)
        }
    }
}

/// Which viewers have something new for the window. Raised by any thread, taken by the main thread.
private final class NewsFlags: Sendable {
    static let all = UInt64.max

    private let states = Atomic<UInt64>(0)
    private let pictures = Atomic<UInt64>(0)

    /// Of 64 viewers that have come since, one may share the bit: it is looked at for nothing then.
    static func bit(_ id: Int) -> UInt64 { 1 << UInt64(id & 63) }

    func raise(_ kind: ViewerState.News, of id: Int) {
        switch kind {
        case .state: states.bitwiseOr(Self.bit(id), ordering: .releasing)
        case .picture: pictures.bitwiseOr(Self.bit(id), ordering: .releasing)
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
    /// Nil: as large as there is.
    private var last: [Int: PixelSize?] = [:]

    func wait(now: MediaTime) -> Duration? { due.map { max(.zero, $0 - now) } }

    /// The sizes to tell now: of the hosts whose size has changed.
    mutating func update(_ version: Int, now: MediaTime, sizes: () -> [Int: PixelSize?]) -> [Int: PixelSize?] {
        if version != self.version {
            due = self.version == nil ? now : now + Self.settlingTime
            self.version = version
        }
        guard let due, due <= now else { return [:] }
        self.due = nil
        let sizes = sizes()
        let changed = sizes.filter { last[$0, default: nil] != $1 }
        last = sizes
        return changed
    }
}
