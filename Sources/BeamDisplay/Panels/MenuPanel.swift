import BeamMedia
import CPango

/// Draws the menu: inside the window at any size, with smaller letters or a part of its entries if it must.
enum MenuPanel {
    /// An entry's row, in the window's pixels.
    struct Row {
        var command: WindowCommand
        var rect: PixelRect
    }

    struct Drawn {
        var layer: Layer
        var rows: [Row]
        /// How many entries have room.
        var count: Int
    }

    /// In small windows the letters get smaller down to this size, in pixels. Then entries are scrolled.
    private static let leastSize = 11.0

    /// Lengths at one scale, in pixels.
    private struct Measure {
        let scale: Double
        let padding: Double
        let row: Double
        let gap: Double
        let mark: Double
        let space: Double
        /// Of the rows that say that there is more above or below.
        let more: Double

        init(_ scale: Double) {
            self.scale = scale
            padding = (6 * scale).rounded()
            let letters = Theme.Font.menu.pixels(scale)
            row = (letters * 1.8).rounded()
            gap = (9 * scale).rounded()
            mark = (letters * 1.7).rounded()
            space = (letters * 2).rounded()
            more = (letters * 0.9).rounded()
        }
    }

    /// - Parameter menu: is scrolled so that its rows are filled.
    static func draw(_ menu: inout WindowMenu, canvas: PixelSize, scale: Double) -> Drawn {
        let least = min(scale, leastSize / Theme.Font.menu.size)
        var size = scale
        while true {
            let measure = Measure(size)
            let groups = menu.entries.dropFirst().count { $0.beginsGroup }
            let height = 2 * measure.padding + measure.row * Double(menu.entries.count) + measure.gap * Double(groups)
            if height <= Double(canvas.height) {
                menu.fit(menu.entries.count)
                return draw(menu, menu.entries.count, measure, canvas: canvas, hasAll: true)
            }
            guard size > least else { break }
            size = max(least, size * 0.93)
        }
        let measure = Measure(size)
        let room = Double(canvas.height) - 2 * measure.padding - 2 * measure.more
        let count = max(1, min(menu.entries.count, Int(room / measure.row)))
        menu.fit(count)
        return draw(menu, count, measure, canvas: canvas, hasAll: false)
    }

    private static func draw(
        _ menu: WindowMenu, _ count: Int, _ measure: Measure, canvas: PixelSize, hasAll: Bool
    ) -> Drawn {
        let scale = measure.scale
        let most = Double(canvas.width) - 4 * measure.padding - measure.mark
        func block(_ text: String, _ width: Double) -> TextBlock {
            TextBlock(text, .menu, scale: scale, maxWidth: max(1, width))
        }
        // As wide as all entries need, so that it stays as it is while it is scrolled.
        let words = menu.entries.map { block($0.words, most) }
        let widest = words.map(\.width).max() ?? 0
        var keys = menu.entries.map { $0.key.map { block($0, most) } }
        let keyWidth = keys.compactMap { $0?.width }.max() ?? 0
        var inner = widest + (keyWidth > 0 ? measure.space + keyWidth : 0)
        if inner > most {
            keys = keys.map { _ in nil }
            inner = min(widest, most)
        }
        let width = Int((inner + 4 * measure.padding + measure.mark).rounded(.up))
        let visible = menu.first..<min(menu.entries.count, menu.first + count)
        var y = measure.padding + (hasAll ? 0 : measure.more)
        var tops: [Double] = []
        for index in visible {
            if hasAll, index > 0, menu.entries[index].beginsGroup { y += measure.gap }
            tops.append(y)
            y += measure.row
        }
        let bottom = y
        let height = Int((bottom + measure.padding + (hasAll ? 0 : measure.more)).rounded(.up))
        let size = PixelSize(width: min(width, canvas.width), height: min(height, canvas.height))
        let place = place(size, at: menu.origin, in: canvas)
        let bitmap = Bitmap(size) { pen in
            background(pen, size, scale)
            for (index, top) in zip(visible, tops) {
                let entry = menu.entries[index]
                if entry.beginsGroup, index > visible.lowerBound {
                    let line = hasAll ? top - (measure.gap / 2).rounded() : top
                    pen.fill(
                        x: 2 * measure.padding, y: line, width: Double(size.width) - 4 * measure.padding,
                        height: max(1, scale.rounded()), radius: 0, Theme.menuLine)
                }
                row(
                    entry, words[index], keys[index], isSelected: entry.command == menu.selected, on: pen, top: top,
                    width: Double(size.width), measure)
            }
            if !hasAll {
                let middle = Double(size.width) / 2
                if visible.lowerBound > 0 {
                    arrow(pen, x: middle, y: measure.padding + measure.more / 2, up: true, scale)
                }
                if visible.upperBound < menu.entries.count {
                    arrow(pen, x: middle, y: bottom + measure.more / 2, up: false, scale)
                }
            }
        }
        let rows = zip(visible, tops).map { index, top in
            Row(
                command: menu.entries[index].command,
                rect: PixelRect(x: place.x, y: place.y + Int(top), width: size.width, height: Int(measure.row)))
        }
        return Drawn(layer: Layer(bitmap: bitmap, x: place.x, y: place.y), rows: rows, count: count)
    }

    /// To the right of and below the pointer, or on the other side where there is no room.
    private static func place(_ size: PixelSize, at origin: WindowMenu.Point?, in canvas: PixelSize) -> (x: Int, y: Int)
    {
        guard let origin else { return ((canvas.width - size.width) / 2, (canvas.height - size.height) / 2) }
        func along(_ start: Int, _ length: Int, _ room: Int) -> Int {
            let other = start + length <= room || start < length ? start : start - length
            return max(0, min(other, room - length))
        }
        return (along(origin.x, size.width, canvas.width), along(origin.y, size.height, canvas.height))
    }

    private static func background(_ pen: Pen, _ size: PixelSize, _ scale: Double) {
        let (width, height) = (Double(size.width), Double(size.height))
        pen.fill(x: 0, y: 0, width: width, height: height, radius: 8 * scale, Theme.opaquePanel)
        pen.frame(
            x: 0, y: 0, width: width, height: height, radius: 8 * scale, line: max(1, scale.rounded()), Theme.menuLine)
    }

    private static func row(
        _ entry: WindowMenu.Entry, _ words: TextBlock, _ key: TextBlock?, isSelected: Bool, on pen: Pen, top: Double,
        width: Double, _ measure: Measure
    ) {
        if isSelected {
            pen.fill(
                x: measure.padding, y: top, width: width - 2 * measure.padding, height: measure.row,
                radius: 5 * measure.scale, Theme.accent.opacity(0.32))
        }
        let colour = entry.isEnabled ? Theme.text : Theme.disabled
        let left = 2 * measure.padding
        if let isOn = entry.isOn {
            mark(
                isOn, on: pen, x: left, y: top + measure.row / 2, side: Theme.Font.menu.pixels(measure.scale) * 0.86,
                entry.isEnabled)
        }
        pen.draw(words, x: left + measure.mark, y: (top + (measure.row - words.height) / 2).rounded(), colour)
        if let key {
            pen.draw(
                key, x: width - left - key.width, y: (top + (measure.row - key.height) / 2).rounded(),
                entry.isEnabled ? Theme.muted : Theme.disabled)
        }
    }

    /// A box, ticked if `isOn`. Drawn, because not every font has one.
    private static func mark(_ isOn: Bool, on pen: Pen, x: Double, y: Double, side: Double, _ isEnabled: Bool) {
        let side = side.rounded()
        let (x, y) = (x.rounded(), (y - side / 2).rounded())
        let line = max(1, (side / 11).rounded())
        if isOn, isEnabled {
            pen.fill(x: x, y: y, width: side, height: side, radius: side * 0.22, Theme.accent)
        } else {
            pen.frame(
                x: x, y: y, width: side, height: side, radius: side * 0.22, line: line,
                isEnabled ? Theme.muted : Theme.disabled)
        }
        guard isOn else { return }
        cairo_new_path(pen.raw)
        cairo_move_to(pen.raw, x + side * 0.24, y + side * 0.53)
        cairo_line_to(pen.raw, x + side * 0.43, y + side * 0.72)
        cairo_line_to(pen.raw, x + side * 0.78, y + side * 0.30)
        pen.set(isEnabled ? Theme.opaquePanel.opacity(1) : Theme.disabled)
        cairo_set_line_width(pen.raw, max(1.5, side * 0.14))
        cairo_set_line_cap(pen.raw, CAIRO_LINE_CAP_ROUND)
        cairo_set_line_join(pen.raw, CAIRO_LINE_JOIN_ROUND)
        cairo_stroke(pen.raw)
    }

    private static func arrow(_ pen: Pen, x: Double, y: Double, up: Bool, _ scale: Double) {
        let (half, high) = (5 * scale, (up ? -2.5 : 2.5) * scale)
        cairo_new_path(pen.raw)
        cairo_move_to(pen.raw, x - half, y - high)
        cairo_line_to(pen.raw, x + half, y - high)
        cairo_line_to(pen.raw, x, y + high)
        cairo_close_path(pen.raw)
        pen.set(Theme.muted)
        cairo_fill(pen.raw)
    }
}
