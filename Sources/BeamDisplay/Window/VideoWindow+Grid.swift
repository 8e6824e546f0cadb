import BeamMedia
import CSDL2

/// Several sources in one window: a grid, or one of them alone.
///
/// Captions, the transcript, notes and statistics are those of the source in
/// focus; the caller sets them anew when it changes (`.focusChanged`).
extension VideoWindow {
    /// What the person looks at.
    public struct Focus: Hashable, Sendable {
        /// The source in focus; nil: there are none.
        public var source: Int?
        /// Only this source is shown.
        public var isAlone: Bool
    }

    /// Shows these sources: several in a grid, the first in focus. Sources keep their last picture as long as they are in
    /// the list.
    public func setSources(_ sources: [WindowSource]) {
        guard sources != grid.sources else { return }
        let (hadGrid, old, states) = (grid.isShown, focus, grid.sources.map(\.isShownDim))
        let isSameSet = sources.map(\.id) == grid.sources.map(\.id)
        grid.set(sources)
        if isSameSet, states == sources.map(\.isShownDim), hadGrid == grid.isShown {
            // Only words have changed.
            areLayersStale = true
        } else {
            isStale = true
        }
        if !isSameSet { layoutChanged() }
        if focus != old || hadGrid != grid.isShown { focusChanged(from: old.source) }
    }

    /// Shows all sources again, as `g` does.
    public func showAll() { changeSelection { $0.showAll() } }

    public var focus: Focus {
        Focus(source: grid.selection.focus, isAlone: !grid.isShown && grid.selection.focus != nil)
    }

    /// Keeps the newest pictures of these sources until the next ones, and shows those that are visible at once, in one
    /// drawing, without waiting for the vertical blank if that doesn't tear. The first picture of the only source sets the
    /// window's size.
    ///
    /// At most 8192 × 8192 each. Outside its damage, a picture must equal the one before. The planes are read before this
    /// returns, and again when the window is redrawn.
    ///
    /// - Returns: the sources whose picture was drawn. While nobody can see the window, or another source is shown
    ///   alone, pictures are drawn later.
    @discardableResult public func show(_ pictures: [(source: Int, picture: Picture)]) -> Set<Int> {
        var changes: [PictureChange] = []
        var isWhole = false
        for (source, picture) in pictures {
            let old = grid.picture(of: source)?.size
            let damage = grid.take(picture, of: source)
            guard grid.isShown || source == focus.source else { continue }
            // The first picture, or another shape, may change the layout.
            if let damage { changes.append(PictureChange(source: source, damage: damage)) } else { isWhole = true }
            if !grid.isShown, old != picture.size { sizeChanged(to: picture.size, from: old) }
        }
        let shown = pictures.map(\.source).filter { grid.isShown || $0 == focus.source }
        guard !shown.isEmpty else { return [] }
        if isWhole, grid.isShown { layoutChanged() }
        draw(isWhole || isStale ? .everything : .pictures(changes))
        updateWatched()
        return canDraw ? Set(shown) : []
    }

    /// The picture that is shown alone has another size.
    private func sizeChanged(to size: PixelSize, from old: PixelSize?) {
        if let old { zoom?.follow(size, from: old) }
        if grid.sources.count < 2 { placement.fit(to: size, scale: scale) }
    }

    /// Sets a source's transcript: its heading, and lines to add at its end. See `setTranscript` and `appendTranscript`;
    /// each of several sources keeps a tenth of what the only one does.
    ///
    /// - Parameter isNew: the lines before belong to another session.
    public func setTranscript(
        of source: Int, heading: TranscriptHeading, adding lines: [TranscriptLine], isNew: Bool = false
    ) {
        guard let view = grid.transcript(of: source) else { return }
        let version = view.transcript.version
        if isNew { view.clear() }
        view.transcript.setHeading(heading)
        view.transcript.append(lines)
        if source == focus.source, panels.showsTranscript, view.transcript.version != version { areLayersStale = true }
    }

    /// Removes the last picture of a source, because it isn't to be seen any more; nil: of the one in focus.
    public func forgetPicture(of source: Int? = nil) {
        guard let source = source ?? focus.source, grid.picture(of: source) != nil else { return }
        grid.forgetPicture(of: source)
        if !grid.isShown, source == focus.source {
            zoom = nil
            dragged = nil
        }
        layoutChanged()
        isStale = true
        updateWatched()
    }

    /// The largest size in pixels in which each source is shown at present; while one is shown alone, the others have
    /// the size that they had in the grid. A zoomed one has none: any size is of use.
    public var shownSizes: [Int: PixelSize] {
        var sizes: [Int: PixelSize] = [:]
        for (source, tile) in zip(grid.sources, grid.layout(gridSetting).tiles) { sizes[source.id] = tile.box.size }
        if let source = focus.source, focus.isAlone { sizes[source] = zoom == nil ? window.pixelSize : nil }
        return sizes
    }

    // MARK: - Drawing

    var gridSetting: SourceGrid.Setting {
        var area = PixelRect(window.pixelSize)
        let scale = PanelStack.Setting(canvas: area.size, textScale: scale, isOverPicture: true).scale
        if panels.showsTranscript {
            let transcript = TranscriptView.rect(in: area, scale: scale)
            if transcript.x > 0 { area.width = transcript.x }
        }
        return SourceGrid.Setting(area: area, scale: scale)
    }

    /// The rectangle of the picture in focus in the window; nil: there is no grid.
    var focusRect: PixelRect? {
        guard grid.isShown, let index = grid.selection.focusIndex else { return nil }
        let tiles = grid.layout(gridSetting).tiles
        return tiles.indices.contains(index) ? tiles[index].picture : nil
    }

    /// `shownSizes` may have changed.
    func layoutChanged() { layoutVersion += 1 }

    // MARK: - Events

    /// Another source is in focus, or the grid has come or gone.
    private func focusChanged(from old: Int?) {
        zoom = nil
        isStale = true
        layoutChanged()
        sourceChanged(from: old)
        updateWatched()
    }

    private func sourceChanged(from old: Int?) {
        hasFocusChanged = true
        // In a room the words are everybody's.
        guard !isRoom, let source = focus.source, source != old else { return }
        if let transcript = grid.transcript(of: source) { panels.transcript = transcript }
        guard panels.showsNote else { return }
        // What is written for one isn't sent to another. `n` opens the line again.
        panels.showsNote = false
        updateTextInput()
    }

    private func changeSelection(_ change: (inout GridSelection) -> Void) {
        let old = grid.selection
        change(&grid.selection)
        guard grid.selection != old else { return }
        if grid.selection.isGrid, old.isGrid {
            // Only the frame and the labels.
            areLayersStale = true
            sourceChanged(from: old.focus)
        } else {
            focusChanged(from: old.focus)
        }
    }

    func showFocusedAlone() {
        changeSelection { selection in
            if let index = selection.focusIndex { selection.showAlone(index: index) }
        }
    }

    func focusNext() { move(.next) }

    /// Returns whether the key belonged to the grid.
    func pressInGrid(_ key: SDL_KeyboardEvent) -> Bool {
        guard grid.sources.count > 1, panels.picker == nil, panels.codeEntry == nil else { return false }
        let code = CommandKeys.code(key.keysym)
        let isShifted = UInt32(key.keysym.mod) & UInt32(KMOD_SHIFT.rawValue) != 0
        if let digit = Self.digits[code] {
            changeSelection { $0.showAlone(index: digit - 1) }
            return true
        }
        switch code {
        case SDLK_g: changeSelection { $0.showAll() }
        case SDLK_ESCAPE where grid.selection.isAlone && !panels.showsTranscript && zoom == nil:
            changeSelection { $0.showAll() }
        case SDLK_TAB: move(isShifted ? .previous : .next)
        case SDLK_LEFT: move(.left)
        case SDLK_RIGHT: move(.right)
        case SDLK_UP where !panels.showsTranscript: move(.up)
        case SDLK_DOWN where !panels.showsTranscript: move(.down)
        case SDLK_RETURN, SDLK_KP_ENTER, SDLK_SPACE: showFocusedAlone()
        default: return false
        }
        return true
    }

    private static let digits: [SDL_KeyCode: Int] = [
        SDLK_1: 1, SDLK_2: 2, SDLK_3: 3, SDLK_4: 4, SDLK_5: 5, SDLK_6: 6, SDLK_7: 7, SDLK_8: 8, SDLK_9: 9,
        SDLK_KP_1: 1, SDLK_KP_2: 2, SDLK_KP_3: 3, SDLK_KP_4: 4, SDLK_KP_5: 5, SDLK_KP_6: 6, SDLK_KP_7: 7,
        SDLK_KP_8: 8, SDLK_KP_9: 9,
    ]

    private func move(_ move: GridSelection.Move) {
        let columns = grid.layout(gridSetting).columns
        changeSelection { $0.move(move, columns: columns) }
    }

    /// Returns whether a click at this position in the display's units was on a tile. The second click of a double click
    /// that has shown a source alone belongs to it, too.
    func clickInGrid(_ button: SDL_MouseButtonEvent) -> Bool {
        if button.clicks == 1 { hasClickedTile = false }
        guard grid.isShown, panels.picker == nil, panels.codeEntry == nil, !panels.showsNote else {
            return hasClickedTile
        }
        let ratio = window.pixelRatio
        let (x, y) = (Int(Double(button.x) * ratio), Int(Double(button.y) * ratio))
        guard panels.transcriptRect?.contains(PixelRect(x: x, y: y, width: 1, height: 1)) != true,
            let index = grid.layout(gridSetting).tile(atX: x, y: y)
        else { return false }
        hasClickedTile = true
        changeSelection { $0.showAlone(index: index) }
        return true
    }
}

extension WindowSource {
    /// What decides how its picture is drawn.
    fileprivate var isShownDim: [Bool] { [state != nil, isHeld, isFault] }
}
