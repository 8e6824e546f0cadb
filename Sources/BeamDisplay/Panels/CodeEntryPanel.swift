import BeamMedia

/// Six digit boxes in the middle of the window, with the prompt above, and an error message and an offer below.
enum CodeEntryPanel {
    /// Over a picture it is drawn on a panel, otherwise on the background below the emblem.
    ///
    /// - Parameter selected: the button that is marked as the one under the pointer.
    static func layer(
        _ entry: CodeEntry, selected: Int, canvas: PixelSize, scale: Double, isOverPicture: Bool
    ) -> Column.Drawn {
        let prompt = entry.prompt
        return Column.draw(canvas: canvas, scale: scale, isOverPicture: isOverPicture) { measure in
            let scale = measure.scale
            let width = min(measure.width, 560 * scale)
            var column = Column()
            column.add(
                TextBlock(
                    prompt.headline, .headline, scale: scale, maxWidth: width, maxLines: measure.mostLines,
                    alignment: .centre),
                gap: 0, Theme.text)
            let boxes = DigitBoxes(entry, scale: min(scale, measure.width / DigitBoxes.width))
            column.add(width: boxes.width, height: boxes.height, gap: 24 * scale, draw: boxes.draw)
            // An empty line reserves the space, so that nothing moves when an error appears. In the smallest windows there
            // is room for one of both.
            let isTight = measure.mostLines <= 1
            if !isTight || prompt.problem != nil {
                column.add(
                    TextBlock(
                        prompt.problem ?? " ", .detail, scale: scale, maxWidth: width, maxLines: measure.mostLines,
                        alignment: .centre),
                    gap: 16 * scale, Theme.warning)
            }
            if let offer = prompt.offer, !isTight || prompt.problem == nil {
                column.add(
                    TextBlock(
                        offer, .detail, scale: scale, maxWidth: width, maxLines: measure.mostLines, alignment: .centre),
                    gap: 16 * scale, prompt.takesOffer ? Theme.text : Theme.muted)
            }
            ButtonRow(
                prompt.buttons, selected: selected, scale: scale, maxWidth: measure.width,
                isTight: measure.mostLines <= 1
            ).add(to: &column)
            return column
        }
    }
}

/// Two groups of three boxes. The box for the next digit is highlighted.
private struct DigitBoxes {
    private static let box = (width: 54.0, height: 68.0)
    private static let gap = 8.0
    private static let middleGap = 24.0
    /// In pixels at scale 1.
    static let width = Double(CodeEntry.length) * box.width + Double(CodeEntry.length - 2) * gap + middleGap

    private let digits: [TextBlock]
    private let takesDigits: Bool
    private let scale: Double

    init(_ entry: CodeEntry, scale: Double) {
        digits = entry.digits.map {
            TextBlock(String($0), .digit, scale: scale, maxWidth: .infinity)
        }
        takesDigits = entry.takesDigits
        self.scale = scale
    }

    var width: Double { Self.width * scale }
    var height: Double { Self.box.height * scale }

    func draw(_ pen: Pen, x: Double, y: Double) {
        var x = x
        let width = Self.box.width * scale
        for index in 0..<CodeEntry.length {
            let radius = 10 * scale
            let isNext = takesDigits && index == digits.count
            pen.fill(x: x, y: y, width: width, height: height, radius: radius, Theme.tile)
            pen.frame(
                x: x, y: y, width: width, height: height, radius: radius, line: max(1, (isNext ? 2.5 : 1) * scale),
                isNext ? Theme.accent : Theme.boxBorder)
            if index < digits.count {
                let digit = digits[index]
                pen.draw(
                    digit, x: (x + (width - digit.width) / 2).rounded(), y: (y + (height - digit.height) / 2).rounded(),
                    takesDigits ? Theme.text : Theme.muted)
            }
            x += width + (index == CodeEntry.length / 2 - 1 ? Self.middleGap : Self.gap) * scale
        }
    }
}
