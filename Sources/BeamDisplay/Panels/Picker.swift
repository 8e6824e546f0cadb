import BeamMedia

/// The entries of a list, its selection and its scroll position.
struct Picker: Hashable {
    var title = ""
    private(set) var entries: [PickerEntry] = []
    private(set) var selected = 0
    /// The first visible entry.
    private(set) var first = 0

    /// Replaces the entries. The selection stays on its entry if that is still there.
    mutating func update(_ entries: [PickerEntry]) {
        let old = self.entries.indices.contains(selected) ? self.entries[selected] : nil
        self.entries = entries
        selected = old.flatMap { entries.firstIndex(of: $0) } ?? min(selected, max(0, entries.count - 1))
        first = min(first, max(0, entries.count - 1))
    }

    mutating func select(_ index: Int) {
        guard !entries.isEmpty else { return }
        selected = min(max(0, index), entries.count - 1)
    }

    /// Scrolls so that the selection is among the `count` visible entries and no row is left empty.
    mutating func scroll(toFit count: Int) {
        first = min(max(first, selected - count + 1), selected)
        first = max(0, min(first, entries.count - count))
    }

    /// The entry that the key `digit` (1…9) selects; the digit is shown beside it.
    func entry(forDigit digit: Int) -> Int? {
        let index = first + digit - 1
        return digit >= 1 && entries.indices.contains(index) ? index : nil
    }
}

/// Draws the list in the middle of the window.
enum PickerPanel {
    /// An entry's row, in the window's pixels.
    struct Row {
        var index: Int
        var rect: PixelRect
    }

    private static let rowHeight = 58.0
    private static let gap = 6.0

    /// The number of entries that fit.
    static func capacity(canvas: PixelSize, scale: Double) -> Int {
        max(1, Int((Double(canvas.height) / scale - 190) / (rowHeight + gap)))
    }

    /// - Parameter picker: must have at least one entry.
    static func layer(
        _ picker: Picker, canvas: PixelSize, scale: Double, isOverPicture: Bool
    ) -> (Layer, [Row]) {
        let count = min(picker.entries.count, capacity(canvas: canvas, scale: scale))
        let indices = picker.first..<min(picker.entries.count, picker.first + count)
        let margin = isOverPicture ? 28 * scale : 2
        let width = (min(Double(canvas.width) - 32 * scale - 2 * margin, 520 * scale)).rounded()
        let title = TextBlock(picker.title, .headline, scale: scale, maxWidth: width)
        let hidden = picker.entries.count - count
        let more = hidden > 0 ? "\(hidden) more · " : ""
        // The longest one that there is room for.
        let hints = ["↑ ↓ and Enter, a digit, or a click", "↑ ↓ Enter, 1 … 9, click", "↑ ↓ Enter"].map {
            TextBlock(more + $0, .small, scale: scale, maxWidth: width)
        }
        let hint = hints.first { !$0.isCut } ?? hints[2]
        let row = (rowHeight * scale).rounded()
        let step = row + (gap * scale).rounded()
        let top = (margin + title.height + 22 * scale).rounded()
        let hintTop = top + step * Double(count) + 14 * scale
        let size = PixelSize(
            width: Int(width + 2 * margin), height: Int((hintTop + hint.height + margin).rounded(.up)))

        let bitmap = Bitmap(size) { pen in
            let middle = Double(size.width) / 2
            if isOverPicture {
                pen.fill(
                    x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 16 * scale, Theme.panel)
            }
            pen.draw(title, x: (middle - title.width / 2).rounded(), y: margin, Theme.text)
            for (place, index) in indices.enumerated() {
                draw(
                    picker.entries[index], digit: place < 9 ? place + 1 : nil, isSelected: index == picker.selected,
                    on: pen, x: margin, y: top + step * Double(place), width: width, height: row, scale)
            }
            pen.draw(hint, x: (middle - hint.width / 2).rounded(), y: hintTop.rounded(), Theme.muted)
        }
        let layer = Layer(bitmap: bitmap, x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2)
        let rows = indices.enumerated().map { place, index in
            Row(
                index: index,
                rect: PixelRect(
                    x: layer.x + Int(margin), y: layer.y + Int(top + step * Double(place)), width: Int(width),
                    height: Int(row)))
        }
        return (layer, rows)
    }

    private static func draw(
        _ entry: PickerEntry, digit: Int?, isSelected: Bool, on pen: Pen, x: Double, y: Double, width: Double,
        height: Double, _ scale: Double
    ) {
        let radius = 12 * scale
        let padding = 18 * scale
        pen.fill(
            x: x, y: y, width: width, height: height, radius: radius,
            isSelected ? Theme.accent.opacity(0.22) : Theme.tile.opacity(0.05))
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
        pen.draw(name, x: (x + padding).rounded(), y: textY.rounded(), Theme.text)
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
