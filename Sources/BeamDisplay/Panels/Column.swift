import BeamMedia

/// A vertical stack of items, centred in the window.
struct Column {
    private struct Item {
        var width: Double
        var height: Double
        /// Distance to the item above.
        var gap: Double
        /// Parts of it that can be clicked, from its top left corner.
        var parts: [PixelRect]
        /// Draws the item with its top left corner at (x, y).
        var draw: (_ pen: Pen, _ x: Double, _ y: Double) -> Void
    }

    /// A drawn column.
    struct Drawn {
        var layer: Layer
        /// The items' parts that can be clicked, in the window.
        var parts: [PixelRect]
    }

    /// The sizes with which a column is built.
    struct Measure {
        var scale: Double
        /// The maximum width of an item.
        var width: Double
        var hasEmblem: Bool
        /// The factor by which the content has been shrunk to fit, 1 or less.
        var shrinking: Double
        /// Texts are cut after so many lines: only where the smallest text has no room.
        var mostLines = allLines

        static let allLines = 40
    }

    private static let emblemSide = 72.0
    /// The smallest factor for text. It makes all content fit in 160 × 90, the smallest window.
    private static let minimumShrinking = 0.55
    /// The same where texts that are cut leave no room for buttons.
    private static let leastShrinking = 0.4

    private var items: [Item] = []

    /// Adds an item at the bottom. The first item's gap is ignored.
    mutating func add(
        width: Double, height: Double, gap: Double, parts: [PixelRect] = [],
        draw: @escaping (_ pen: Pen, _ x: Double, _ y: Double) -> Void
    ) {
        items.append(Item(width: width, height: height, gap: items.isEmpty ? 0 : gap, parts: parts, draw: draw))
    }

    mutating func add(_ text: TextBlock, gap: Double, _ colour: Theme.Colour) {
        add(width: text.width, height: text.height, gap: gap) { pen, x, y in
            pen.draw(text, x: x.rounded(), y: y.rounded(), colour)
        }
    }

    private var width: Double { items.map(\.width).max() ?? 0 }
    private var height: Double { items.reduce(0) { $0 + $1.gap + $1.height } }

    /// Builds a column that fits into the window: first with the emblem (if not over a picture), then without it, then
    /// with smaller text, then with texts that are cut, and at last with smaller ones still. Over a picture it gets a panel
    /// as background.
    static func draw(
        canvas: PixelSize, scale: Double, isOverPicture: Bool, build: (Measure) -> Column
    ) -> Drawn {
        let margin = isOverPicture ? min(32 * scale, Double(min(canvas.width, canvas.height)) * 0.07) : 2
        let room = (width: Double(canvas.width) - 2 * margin, height: Double(canvas.height) - 2 * margin)
        var measure = Measure(
            scale: scale, width: min(room.width - 1, Double(canvas.width) - 16 * scale), hasEmblem: !isOverPicture,
            shrinking: 1)
        while true {
            var column = Column()
            if measure.hasEmblem { column.addEmblem(measure.scale) }
            for item in build(measure).items { column.append(item, gap: 28 * measure.scale) }
            let fits = column.width <= room.width && column.height <= room.height
            let isSmallest = !measure.hasEmblem && measure.shrinking <= minimumShrinking
            let isCut = isSmallest && measure.mostLines <= 1
            if fits || isCut && measure.shrinking <= leastShrinking {
                return column.drawn(canvas: canvas, margin: margin, scale: measure.scale, isOverPicture: isOverPicture)
            }
            if measure.hasEmblem {
                measure.hasEmblem = false
            } else if isSmallest, !isCut {
                measure.mostLines = min(measure.mostLines - 1, 6)
            } else {
                measure.shrinking *= 0.9
                measure.scale = scale * measure.shrinking
            }
        }
    }

    private mutating func append(_ item: Item, gap: Double) {
        add(
            width: item.width, height: item.height, gap: items.count == 1 && item.gap == 0 ? gap : item.gap,
            parts: item.parts, draw: item.draw)
    }

    private mutating func addEmblem(_ scale: Double) {
        let side = Self.emblemSide * scale
        add(width: side, height: side, gap: 0) { pen, x, y in Emblem.draw(pen, x: x, y: y, side: side) }
    }

    private func drawn(canvas: PixelSize, margin: Double, scale: Double, isOverPicture: Bool) -> Drawn {
        let size = PixelSize(
            width: Int((width + 2 * margin).rounded(.up)), height: Int((height + 2 * margin).rounded(.up)))
        let bitmap = Bitmap(size) { pen in
            if isOverPicture {
                pen.fill(
                    x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 16 * scale, Theme.panel)
            }
            var y = margin
            for item in items {
                y += item.gap
                item.draw(pen, (Double(size.width) - item.width) / 2, y)
                y += item.height
            }
        }
        let layer = Layer(bitmap: bitmap, x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2)
        var parts: [PixelRect] = []
        var y = margin
        for item in items {
            y += item.gap
            let x = (Double(size.width) - item.width) / 2
            parts += item.parts.map {
                PixelRect(x: layer.x + Int(x) + $0.x, y: layer.y + Int(y) + $0.y, width: $0.width, height: $0.height)
            }
            y += item.height
        }
        return Drawn(layer: layer, parts: parts)
    }
}
