import BeamMedia

/// Draws the list in the middle of the window.
enum PickerPanel {
    /// An entry's row, in the window's pixels.
    struct Row {
        var index: Int
        var rect: PixelRect
    }

    struct Drawn {
        var layer: Layer
        var rows: [Row]
        /// Of the line for an address; nil: there is no room for it, or none is wanted.
        var field: PixelRect?
        var cursor: PixelRect?
    }

    private static let rowHeight = 58.0
    private static let gap = 6.0
    /// The line for an address, with its distance.
    private static let fieldHeight = 58.0
    /// What is said where no entry is there: up to three lines, with their distance.
    private static let wordsHeight = 70.0
    /// What surrounds the rows, in pixels at scale 1.
    private static let surroundings = 190.0

    /// The number of entries that fit.
    static func capacity(of picker: Picker, canvas: PixelSize, scale: Double) -> Int {
        let field = hasField(picker, canvas, scale) ? fieldHeight : 0
        let words = hasWords(picker, canvas, scale) ? wordsHeight : 0
        let room = Double(canvas.height) / scale - surroundings - field - words
        return max(picker.isTyping ? 0 : 1, Int(room / (rowHeight + gap)))
    }

    /// In a window that is too low for both, there is the list, or the line while something is typed there.
    private static func hasField(_ picker: Picker, _ canvas: PixelSize, _ scale: Double) -> Bool {
        guard picker.field != nil else { return false }
        return picker.isTyping || picker.entries.isEmpty
            || Double(canvas.height) / scale >= surroundings + fieldHeight + rowHeight
    }

    /// The entries are more important, where there isn't room for both.
    private static func hasWords(_ picker: Picker, _ canvas: PixelSize, _ scale: Double) -> Bool {
        guard picker.entries.allSatisfy(\.isAway) else { return false }
        let least = surroundings + fieldHeight + rowHeight + wordsHeight
        return picker.entries.isEmpty || Double(canvas.height) / scale >= least
    }

    static func draw(_ picker: Picker, canvas: PixelSize, scale: Double, isOverPicture: Bool) -> Drawn {
        let count = min(picker.entries.count, capacity(of: picker, canvas: canvas, scale: scale))
        let indices = picker.first..<min(picker.entries.count, picker.first + count)
        let margin = isOverPicture ? 28 * scale : 2
        let width = (min(Double(canvas.width) - 32 * scale - 2 * margin, 520 * scale)).rounded()
        let line =
            hasField(picker, canvas, scale)
            ? picker.field.map { AddressLine($0, scale: scale, width: width) } : nil
        let title = TextBlock(picker.title, .headline, scale: scale, maxWidth: width)
        let words =
            hasWords(picker, canvas, scale)
            ? picker.words.map {
                TextBlock($0, .detail, scale: scale, maxWidth: width, maxLines: 3, alignment: .centre)
            } : nil
        let foot =
            line?.words(maxLines: 3) ?? (hint(picker, hidden: picker.entries.count - count, width, scale), Theme.muted)
        let row = (rowHeight * scale).rounded()
        let step = row + (gap * scale).rounded()
        let top = (margin + title.height + 22 * scale + (words.map { $0.height + 12 * scale } ?? 0)).rounded()
        let fieldTop = (top + step * Double(count) + (count > 0 ? 8 * scale : 0)).rounded()
        let footTop = fieldTop + (line.map { $0.height + 14 * scale } ?? (count > 0 ? 6 * scale : 0))
        // So that nothing moves when something is said about an address.
        let footHeight = line == nil ? foot.block.height : max(foot.block.height, 2 * 17 * scale)
        let size = PixelSize(
            width: Int(width + 2 * margin),
            height: min(canvas.height, Int((footTop + footHeight + margin).rounded(.up))))

        var cursor: PixelRect?
        let bitmap = Bitmap(size) { pen in
            let middle = Double(size.width) / 2
            if isOverPicture {
                pen.fill(
                    x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 16 * scale, Theme.panel)
            }
            pen.draw(title, x: (middle - title.width / 2).rounded(), y: margin, Theme.text)
            if let words {
                pen.draw(
                    words, x: (middle - words.width / 2).rounded(),
                    y: (margin + title.height + 12 * scale).rounded(), Theme.muted)
            }
            for (place, index) in indices.enumerated() {
                draw(
                    picker.entries[index], digit: place < 9 ? place + 1 : nil,
                    isSelected: index == picker.selected && !picker.isTyping, on: pen, x: margin,
                    y: top + step * Double(place), width: width, height: row, scale)
            }
            cursor = line?.draw(on: pen, x: margin, y: fieldTop)
            pen.draw(
                foot.block, x: (middle - foot.block.width / 2).rounded(), y: footTop.rounded(), foot.colour)
        }
        let layer = Layer(bitmap: bitmap, x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2)
        func rect(_ y: Double, _ height: Double) -> PixelRect {
            PixelRect(x: layer.x + Int(margin), y: layer.y + Int(y), width: Int(width), height: Int(height))
        }
        return Drawn(
            layer: layer,
            rows: indices.enumerated().map { Row(index: $1, rect: rect(top + step * Double($0), row)) },
            field: line.map { rect(fieldTop, $0.height) },
            cursor: cursor.map { PixelRect(x: layer.x + $0.x, y: layer.y + $0.y, width: $0.width, height: $0.height) })
    }

    /// The longest one that there is room for.
    private static func hint(_ picker: Picker, hidden: Int, _ width: Double, _ scale: Double) -> TextBlock {
        let more = hidden > 0 ? "\(hidden) more · " : ""
        let texts =
            if picker.isTyping {
                picker.entries.isEmpty
                    ? ["A name, or an address with or without a port · Enter connects", "Enter connects"]
                    : ["Enter connects · Tab goes back to the list", "Enter, Tab"]
            } else if picker.entries.isEmpty {
                ["Tab or a click: type an address", "Tab: an address"]
            } else if picker.field != nil {
                [
                    more + "↑ ↓ and Enter, a digit, or a click · Tab for an address", more + "↑ ↓ Enter, 1 … 9, Tab",
                    more + "↑ ↓ Enter",
                ]
            } else {
                [more + "↑ ↓ and Enter, a digit, or a click", more + "↑ ↓ Enter, 1 … 9, click", more + "↑ ↓ Enter"]
            }
        let blocks = texts.map { TextBlock($0, .small, scale: scale, maxWidth: width) }
        return blocks.first { !$0.isCut } ?? blocks[blocks.count - 1]
    }

    private static func draw(
        _ entry: PickerEntry, digit: Int?, isSelected: Bool, on pen: Pen, x: Double, y: Double, width: Double,
        height: Double, _ scale: Double
    ) {
        let radius = 12 * scale
        let padding = 18 * scale
        pen.fill(
            x: x, y: y, width: width, height: height, radius: radius,
            isSelected ? Theme.accent.opacity(0.22) : Theme.tile.opacity(entry.isAway ? 0.02 : 0.05))
        if isSelected {
            pen.fill(
                x: x, y: y + height * 0.28, width: 3 * scale, height: height * 0.44, radius: 1.5 * scale, Theme.accent)
        }
        let key = (26 * scale).rounded()
        let room = width - 3 * padding - key
        let name = TextBlock(entry.name, .row, scale: scale, maxWidth: room)
        let detail = entry.detail.map { TextBlock($0, .rowDetail, scale: scale, maxWidth: room) }
        let textHeight = name.height + (detail.map { $0.height + 2 * scale } ?? 0)
        var textY = y + (height - textHeight) / 2
        pen.draw(name, x: (x + padding).rounded(), y: textY.rounded(), entry.isAway ? Theme.name : Theme.text)
        if let detail {
            textY += name.height + 2 * scale
            pen.draw(detail, x: (x + padding).rounded(), y: textY.rounded(), Theme.muted)
        }
        guard let digit else { return }
        let keyX = (x + width - padding - key).rounded()
        let keyY = (y + (height - key) / 2).rounded()
        pen.fill(x: keyX, y: keyY, width: key, height: key, radius: 6 * scale, Theme.tile)
        let label = TextBlock(String(digit), .small, scale: scale, maxWidth: key)
        pen.draw(
            label, x: (keyX + (key - label.width) / 2).rounded(), y: (keyY + (key - label.height) / 2).rounded(),
            isSelected ? Theme.text : Theme.muted)
    }
}
