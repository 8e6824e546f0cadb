import BeamMedia

/// The list of keys in the middle of the window.
enum KeysPanel {
    private static let title = "Keys"
    private static let footer = "any key or click closes this"
    /// In small windows the letters get smaller down to this size, in pixels. Then rows are left out.
    private static let leastSize = 9.0
    private static let mostColumns = 3

    static func layer(_ rows: [WindowCommand.Row], canvas: PixelSize, scale: Double) -> Layer {
        let least = min(scale, leastSize / Theme.Font.statistics.size)
        var size = scale
        while true {
            for columns in 1...mostColumns {
                let table = Table(rows, columns: columns, scale: size, room: nil, footer: footer)
                if table.fits(canvas) { return table.layer(canvas) }
            }
            guard size > least else { break }
            size = max(least, size * 0.93)
        }
        for count in stride(from: rows.count, to: 1, by: -1) {
            let words = count < rows.count ? "… more in a larger window" : footer
            let table = Table(
                Array(rows.prefix(count)), columns: 1, scale: size, room: Double(canvas.width), footer: words)
            if table.fits(canvas) { return table.layer(canvas) }
        }
        return Table(Array(rows.suffix(1)), columns: 1, scale: size, room: Double(canvas.width), footer: footer)
            .layer(canvas)
    }

    /// The rows in columns, laid out.
    private struct Table {
        private struct Line {
            var keys: TextBlock
            var words: TextBlock
            var height: Double { max(keys.height, words.height) }
        }

        private struct Part {
            var lines: [Line]
            var keys: Double
            var width: Double
            var height: Double
        }

        private let title: TextBlock
        private let footer: TextBlock
        private let parts: [Part]
        private let scale: Double
        private let padding: Double
        private let gap: Double
        private let leading: Double
        private let size: PixelSize

        /// - Parameter room: the width in which long lines are wrapped; nil: nothing is wrapped.
        init(_ rows: [WindowCommand.Row], columns: Int, scale: Double, room: Double?, footer: String) {
            self.scale = scale
            let padding = (18 * scale).rounded()
            let (gap, leading) = ((14 * scale).rounded(), (5 * scale).rounded())
            (self.padding, self.gap, self.leading) = (padding, gap, leading)
            let inner = room.map { max(1, $0 - 2 * padding) } ?? .infinity
            title = TextBlock(KeysPanel.title, .row, scale: scale, maxWidth: inner)
            self.footer = TextBlock(footer, .small, scale: scale, maxWidth: inner)
            let each = (rows.count + columns - 1) / columns
            parts = stride(from: 0, to: rows.count, by: max(1, each)).map { first in
                let keys = rows[first..<min(rows.count, first + each)].map {
                    TextBlock($0.keys, .statistics, scale: scale, maxWidth: inner * 0.5, maxLines: 3)
                }
                let width = keys.map(\.width).max() ?? 0
                let lines = zip(keys, rows[first...]).map { keys, row in
                    Line(
                        keys: keys,
                        words: TextBlock(
                            row.words, .statistics, scale: scale, maxWidth: max(1, inner - width - gap), maxLines: 3))
                }
                return Part(
                    lines: lines, keys: width, width: width + gap + (lines.map(\.words.width).max() ?? 0),
                    height: lines.reduce(0) { $0 + $1.height } + leading * Double(max(0, lines.count - 1)))
            }
            let spaces = 2 * gap * Double(max(0, parts.count - 1))
            let width = max(
                parts.reduce(spaces) { $0 + $1.width }, max(title.width, self.footer.width))
            let height = title.height + 2 * gap * 0.7 + (parts.map(\.height).max() ?? 0) + self.footer.height
            size = PixelSize(
                width: Int((width + 2 * padding).rounded(.up)), height: Int((height + 2 * padding).rounded(.up)))
        }

        func fits(_ canvas: PixelSize) -> Bool { size.width <= canvas.width && size.height <= canvas.height }

        func layer(_ canvas: PixelSize) -> Layer {
            let size = PixelSize(width: min(size.width, canvas.width), height: min(size.height, canvas.height))
            let bitmap = Bitmap(size) { pen in
                let (width, height) = (Double(size.width), Double(size.height))
                pen.fill(x: 0, y: 0, width: width, height: height, radius: 14 * scale, Theme.opaquePanel)
                pen.draw(title, x: padding, y: padding, Theme.text)
                let top = (padding + title.height + gap * 0.7).rounded()
                var x = padding
                for part in parts {
                    var y = top
                    for line in part.lines {
                        pen.draw(line.keys, x: x, y: y, Theme.accentOnPlate)
                        pen.draw(line.words, x: x + part.keys + gap, y: y, Theme.text)
                        y += line.height + leading
                    }
                    x += part.width + 2 * gap
                }
                pen.draw(footer, x: padding, y: (height - padding - footer.height).rounded(), Theme.muted)
            }
            return Layer(
                bitmap: bitmap, x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2)
        }
    }
}

/// A line at the lower edge that names a few keys for some seconds.
enum HintPanel {
    /// In the middle of the lower edge of `area`, or above what is there; nil if there is no room beside `others`.
    static func layer(_ text: String, in area: PixelRect, scale: Double, avoiding others: [PixelRect]) -> Layer? {
        let margin = Int((12 * scale).rounded())
        let padding = (x: (12 * scale).rounded(), y: (6 * scale).rounded())
        let room = Double(area.width - 2 * margin) - 2 * padding.x
        guard room > 4 * Theme.Font.notice.size * scale else { return nil }
        let words = TextBlock(text, .notice, scale: scale, maxWidth: room, maxLines: 2, alignment: .centre)
        let size = PixelSize(
            width: Int((words.width + 2 * padding.x).rounded(.up)),
            height: Int((words.height + 2 * padding.y).rounded(.up)))
        let x = area.x + (area.width - size.width) / 2
        let above = others.map { $0.y - margin - size.height }
        let places = [area.maxY - margin - size.height] + above.sorted(by: >)
        let place = places.map { PixelRect(x: x, y: $0, width: size.width, height: size.height) }.first { rect in
            rect.y >= area.y + area.height / 2 && others.allSatisfy { $0.intersection(rect).isEmpty }
        }
        guard let place else { return nil }
        let bitmap = Bitmap(size) { pen in
            pen.fill(
                x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 8 * scale, Theme.panel)
            pen.draw(words, x: padding.x, y: padding.y, Theme.name)
        }
        return Layer(bitmap: bitmap, x: place.x, y: place.y)
    }
}
