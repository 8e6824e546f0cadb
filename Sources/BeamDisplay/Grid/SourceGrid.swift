import BeamMedia

/// The sources of a window: their last pictures, which of them are shown, and what is drawn around them.
@MainActor final class SourceGrid {
    @MainActor private struct Tile {
        var picture: Picture?
        var pointer = PointerDrawing()
        var label = LayerCache<TilePanel.Label>()
        var state = LayerCache<TilePanel.State>()
        let transcript: TranscriptView
    }

    struct Setting: Hashable {
        /// What panels at the window's edges leave.
        var area: PixelRect
        var scale: Double
    }

    private(set) var sources: [WindowSource] = []
    var selection = GridSelection()
    private var tiles: [Int: Tile] = [:]
    private var made: (shapes: [PixelSize?], setting: Setting, layout: GridLayout)?
    private var frame: (rect: PixelRect, line: Int, layers: [Layer])?

    /// Whether several sources are shown.
    var isShown: Bool { selection.isGrid }

    var hasPicture: Bool { tiles.values.contains { $0.picture != nil } }

    func set(_ sources: [WindowSource]) {
        self.sources = sources
        tiles = tiles.filter { id, _ in sources.contains { $0.id == id } }
        for source in sources where tiles[source.id] == nil {
            tiles[source.id] = Tile(transcript: TranscriptView(isOfSource: sources.count > 1))
        }
        selection.set(sources.map(\.id))
    }

    var focused: WindowSource? { selection.focusIndex.map { sources[$0] } }

    /// The source's last picture.
    func picture(of source: Int) -> Picture? { tiles[source]?.picture }

    /// Keeps a source's newest picture. Returns what has changed if only a part has; nil: all of it, or its shape.
    func take(_ picture: Picture, of source: Int) -> DamageRegion? {
        guard tiles[source] != nil else { return DamageRegion() }
        let old = tiles[source]?.picture
        tiles[source]?.picture = picture
        let isContinued = old?.size == picture.size && old?.format == picture.format && old?.colour == picture.colour
        return isContinued ? picture.damage : nil
    }

    func transcript(of source: Int) -> TranscriptView? { tiles[source]?.transcript }

    func forgetPicture(of source: Int) {
        tiles[source]?.picture = nil
        tiles[source]?.pointer = PointerDrawing()
    }

    func pointer(of source: Int) -> ScreenPointer { tiles[source]?.pointer.pointer ?? .inPicture }

    /// Returns whether that is another one than before.
    func take(_ pointer: ScreenPointer, of source: Int) -> Bool { tiles[source]?.pointer.take(pointer) ?? false }

    /// The pointers over these pictures, where they are live.
    func pointers(over pictures: [ScenePicture]) -> [Layer] {
        pictures.compactMap { shown in
            shown.dimming > 0 || shown.isGrey ? nil : tiles[shown.source]?.pointer.layer(over: shown.viewport)
        }
    }

    func layout(_ setting: Setting) -> GridLayout {
        let shapes = sources.map { tiles[$0.id]?.picture?.size }
        if let made, made.shapes == shapes, made.setting == setting { return made.layout }
        let layout = GridLayout(shapes, in: setting.area, scale: setting.scale)
        made = (shapes, setting, layout)
        return layout
    }

    /// The pictures of the grid; those that aren't live are darkened.
    func pictures(_ setting: Setting, dimming: Double) -> [ScenePicture] {
        zip(sources, layout(setting).tiles).compactMap { source, tile in
            guard let picture = tiles[source.id]?.picture, !tile.picture.isEmpty else { return nil }
            return ScenePicture(
                source: source.id, picture: picture, viewport: tile.picture,
                dimming: max(dimming, source.state == nil ? 0 : Theme.dimming),
                isGrey: source.isHeld || source.isFault)
        }
    }

    /// Labels, states, and the frame of the source in focus.
    func layers(_ setting: Setting) -> [Layer] {
        let layout = layout(setting)
        var layers: [Layer] = []
        for (index, (source, place)) in zip(sources, layout.tiles).enumerated() {
            guard var tile = tiles[source.id] else { continue }
            let label = TilePanel.Label(
                key: index < TilePanel.mostKeys ? index + 1 : nil, name: VisibleText.name(source.name ?? ""),
                warning: source.warning, news: source.news.map { VisibleText.cleaned($0) },
                hasFocus: source.id == selection.focus, rect: place.label,
                scale: Double(place.label.height) / GridLayout.labelHeight)
            let state = TilePanel.State(
                words: source.state, detail: source.detail, isFault: source.isFault,
                isOverPicture: tile.picture != nil, rect: place.picture, scale: setting.scale)
            layers += [
                tile.label.layer(label) { TilePanel.layer($0) }, tile.state.layer(state) { TilePanel.layer($0) },
            ].compactMap(\.self)
            tiles[source.id] = tile
        }
        if let index = selection.focusIndex, layout.tiles.indices.contains(index) {
            layers += frame(around: layout.tiles[index].picture, line: max(1, Int((2 * setting.scale).rounded())))
        }
        return layers
    }

    private func frame(around rect: PixelRect, line: Int) -> [Layer] {
        if let frame, frame.rect == rect, frame.line == line { return frame.layers }
        let layers = TilePanel.frame(around: rect, line: line)
        frame = (rect, line, layers)
        return layers
    }
}
