import BeamMedia

/// Text and lines of a grid's tile.
enum TilePanel {
    /// The highest number that a key selects.
    static let mostKeys = 9
    private static let longestText = 512

    /// Everything that determines a label.
    struct Label: Hashable {
        /// The key that shows the source alone; nil: there is none.
        var key: Int?
        var name: String
        var warning: String?
        var news: String?
        var hasFocus: Bool
        var rect: PixelRect
        var scale: Double
    }

    /// The key, the name and what is to be said beside it, in one line. Nil if there is no room.
    static func layer(_ label: Label) -> Layer? {
        guard !label.rect.isEmpty else { return nil }
        let (width, height) = (Double(label.rect.width), Double(label.rect.height))
        let gap = (8 * label.scale).rounded()
        let bitmap = Bitmap(label.rect.size) { pen in
            var x = (2 * label.scale).rounded()
            func add(_ text: String?, _ font: Theme.Font, _ colour: Theme.Colour, share: Double = 1) {
                guard let text, !text.isEmpty, width - x > 3 * font.size * label.scale else { return }
                let block = TextBlock(text, font, scale: label.scale, maxWidth: (width - x - 1) * share)
                pen.draw(block, x: x, y: ((height - block.height) / 2).rounded(), colour)
                x += block.width + gap
            }
            add(label.key.map { "\($0)" }, .tileKey, label.hasFocus ? Theme.accent : Theme.muted)
            // The name leaves room for a warning.
            let hasMore = label.warning != nil || label.news != nil
            // A warning is worth more than the name: without it the tile would look like any other.
            let leavesRoom = (width - x) * 0.4 - gap > 6 * Theme.Font.tileKey.size * label.scale
            if label.warning == nil || leavesRoom {
                add(label.name, .tileName, label.hasFocus ? Theme.text : Theme.name, share: hasMore ? 0.6 : 1)
            }
            add(label.warning, .tileKey, Theme.warning)
            add(label.news, .tileKey, Theme.accentOnPlate)
        }
        return Layer(bitmap: bitmap, x: label.rect.x, y: label.rect.y)
    }

    /// Everything that determines the words in a tile's middle.
    struct State: Hashable {
        var words: String?
        var detail: String?
        var isFault: Bool
        var isOverPicture: Bool
        var rect: PixelRect
        var scale: Double
    }

    /// The words on a plate over the last picture, or on a card in place of it.
    static func layer(_ state: State) -> Layer? {
        let area = state.rect
        guard !area.isEmpty, state.words != nil || !state.isOverPicture else { return nil }
        // Tiles may be small: text shrinks with them, down to what can still be read.
        let scale = max(0.7, min(1, Double(area.width) / 300 / state.scale)) * state.scale
        let margin = (14 * scale).rounded()
        let room = (width: Double(area.width) - 2 * margin, height: Double(area.height) - margin)
        var blocks: [(block: TextBlock, colour: Theme.Colour)] = []
        let gap = 4 * scale
        /// All of the text if there is room for it, or else its first lines.
        func add(_ text: String?, _ font: Theme.Font, _ colour: Theme.Colour) {
            guard let text, room.width > 4 * font.size * scale else { return }
            let cleaned = VisibleText.cleaned(VisibleText.start(of: text, bytes: longestText).text)
            for lines in [12, 6, 4, 3, 2, 1] {
                let block = TextBlock(
                    cleaned, font, scale: scale, maxWidth: min(room.width, 360 * scale), maxLines: lines,
                    alignment: .centre)
                blocks.append((block, colour))
                guard blocks.height(gap) > room.height else { return }
                blocks.removeLast()
            }
        }
        add(state.words, .tileState, state.isFault ? Theme.warning : Theme.text)
        add(state.detail, .tileKey, Theme.muted)
        guard state.isOverPicture else {
            let bitmap = Bitmap(area.size) { pen in
                let (width, height) = (Double(area.width), Double(area.height))
                pen.fill(x: 0, y: 0, width: width, height: height, radius: 6 * scale, Theme.card)
                draw(blocks, on: pen, width: width, top: ((height - blocks.height(gap)) / 2).rounded(), gap)
            }
            return Layer(bitmap: bitmap, x: area.x, y: area.y)
        }
        guard !blocks.isEmpty else { return nil }
        let padding = (10 * scale).rounded()
        let size = PixelSize(
            width: min(area.width, Int(((blocks.map(\.block.width).max() ?? 0) + 2 * padding).rounded(.up))),
            height: min(area.height, Int((blocks.height(gap) + 1.4 * padding).rounded(.up))))
        let bitmap = Bitmap(size) { pen in
            let (width, height) = (Double(size.width), Double(size.height))
            pen.fill(x: 0, y: 0, width: width, height: height, radius: 8 * scale, Theme.panel)
            draw(blocks, on: pen, width: width, top: ((height - blocks.height(gap)) / 2).rounded(), gap)
        }
        return Layer(
            bitmap: bitmap, x: area.x + (area.width - size.width) / 2, y: area.y + (area.height - size.height) / 2)
    }

    private static func draw(
        _ blocks: [(block: TextBlock, colour: Theme.Colour)], on pen: Pen, width: Double, top: Double, _ gap: Double
    ) {
        var y = top
        for (block, colour) in blocks {
            pen.draw(block, x: ((width - block.width) / 2).rounded(), y: y.rounded(), colour)
            y += block.height + gap
        }
    }

    /// A frame around `rect`, as four layers beside it: pictures that change inside aren't blended with it.
    static func frame(around rect: PixelRect, line: Int) -> [Layer] {
        let outer = PixelRect(
            x: rect.x - line, y: rect.y - line, width: rect.width + 2 * line, height: rect.height + 2 * line)
        return outer.outside(rect).map { side in
            let bitmap = Bitmap(side.size) { pen in
                pen.fill(
                    x: 0, y: 0, width: Double(side.width), height: Double(side.height), radius: 0, Theme.accent)
            }
            return Layer(bitmap: bitmap, x: side.x, y: side.y)
        }
    }
}

extension [(block: TextBlock, colour: Theme.Colour)] {
    fileprivate func height(_ gap: Double) -> Double {
        reduce(0) { $0 + $1.block.height } + gap * Double(Swift.max(0, count - 1))
    }
}
