import BeamMedia

/// Buttons beside each other, or below each other where there isn't room.
struct ButtonRow {
    private struct Button {
        var words: TextBlock
        var x: Double
        var y: Double
        var width: Double
    }

    private let buttons: [Button]
    private let selected: Int
    private let scale: Double
    private let width: Double
    private let height: Double
    private let buttonHeight: Double

    /// - Parameters:
    ///   - selected: the one that is drawn as the one that Enter presses.
    ///   - isTight: they stay beside each other, with words that are cut if need be: there is no room for two rows.
    init(_ kinds: [WindowButton], selected: Int, scale: Double, maxWidth: Double, isTight: Bool) {
        self.selected = selected
        self.scale = scale
        let padding = (18 * scale).rounded()
        let gap = (10 * scale).rounded()
        let share = (maxWidth + gap) / Double(max(1, kinds.count)) - gap
        let room = max(1, (isTight ? share.rounded(.down) : maxWidth) - 2 * padding - 1)
        let words = kinds.map { TextBlock($0.words, .button, scale: scale, maxWidth: room) }
        let high = ((words.map(\.height).max() ?? 0) + 14 * scale).rounded()
        let widths = words.map { ($0.width + 2 * padding).rounded() }
        let all = widths.reduce(gap * Double(max(0, kinds.count - 1)), +)
        let isStacked = all > maxWidth && !isTight
        let widest = widths.max() ?? 0
        var place = 0.0
        buttons = zip(words, widths).map { words, width in
            defer { place += (isStacked ? high : width) + gap }
            return isStacked
                ? Button(words: words, x: 0, y: place, width: widest)
                : Button(words: words, x: place, y: 0, width: width)
        }
        width = isStacked ? widest : all
        height = isStacked ? max(0, place - gap) : high
        buttonHeight = high
    }

    func add(to column: inout Column) {
        guard !buttons.isEmpty else { return }
        let parts = buttons.map {
            PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int(buttonHeight))
        }
        column.add(width: width, height: height, gap: 22 * scale, parts: parts) { [self] pen, x, y in
            let (x, y) = (x.rounded(.down), y.rounded(.down))
            for (index, button) in buttons.enumerated() {
                let (left, top) = (x + button.x, y + button.y)
                let isSelected = index == selected
                pen.fill(
                    x: left, y: top, width: button.width, height: buttonHeight, radius: 8 * scale,
                    isSelected ? Theme.button : Theme.tile)
                if !isSelected {
                    pen.frame(
                        x: left, y: top, width: button.width, height: buttonHeight, radius: 8 * scale,
                        line: max(1, scale), Theme.boxBorder)
                }
                pen.draw(
                    button.words, x: (left + (button.width - button.words.width) / 2).rounded(),
                    y: (top + (buttonHeight - button.words.height) / 2).rounded(), Theme.text)
            }
        }
    }
}
