import BeamMedia

/// A message in the middle of the window.
enum MessagePanel {
    /// Over a picture it is drawn on a panel, otherwise on the background below the emblem.
    ///
    /// - Parameter selected: the button that Enter presses.
    static func layer(
        _ message: WindowMessage, selected: Int, canvas: PixelSize, scale: Double, isOverPicture: Bool
    ) -> Column.Drawn {
        let groups = groups(of: message.code ?? "")
        return Column.draw(canvas: canvas, scale: scale, isOverPicture: isOverPicture) { measure in
            let scale = measure.scale
            let width = min(measure.width, 640 * scale)
            var column = Column()
            column.add(
                TextBlock(
                    message.headline, .headline, scale: scale, maxWidth: width, maxLines: measure.mostLines,
                    alignment: .centre),
                gap: 0, Theme.text)
            if !groups.isEmpty {
                let height = Double(canvas.height) * CodeTiles.share * measure.shrinking
                CodeTiles(groups, maxWidth: measure.width, wantedHeight: height, scale: scale).add(to: &column)
            }
            if let detail = message.detail {
                func block(_ width: Double) -> TextBlock {
                    TextBlock(
                        detail, .detail, scale: scale, maxWidth: width, maxLines: measure.mostLines, alignment: .centre)
                }
                // Short texts are easier to read in short lines, long ones in few.
                let short = block(min(width, 480 * scale))
                column.add(
                    short.lines > 4 || short.isCut ? block(width) : short,
                    gap: (groups.isEmpty ? 12 : 24) * scale, Theme.muted)
            }
            ButtonRow(
                message.buttons, selected: selected, scale: scale, maxWidth: measure.width,
                isTight: measure.mostLines <= 1
            ).add(to: &column)
            return column
        }
    }

    /// Splits codes of six or nine digits into groups of three, which are easier to read, compare and type.
    static func groups(of code: String) -> [String] {
        let digits = code.filter { !$0.isWhitespace }
        guard digits.count == 6 || digits.count == 9 else { return digits.isEmpty ? [] : [digits] }
        return stride(from: 0, to: digits.count, by: 3).map { String(digits.dropFirst($0).prefix(3)) }
    }
}

/// A code's groups, each on its own tile, large enough to read across a room.
private struct CodeTiles {
    /// The digits' height as a share of the window's, if the width allows it.
    static let share = 0.34
    /// Padding around the digits and gap between tiles, in em.
    private static let padding = 0.4
    private static let gap = 0.24

    private let groups: [TextBlock]
    private let em: Double

    init(_ groups: [String], maxWidth: Double, wantedHeight: Double, scale: Double) {
        let plain = groups.map { TextBlock($0, .code, scale: 1, maxWidth: .infinity) }
        let plainEm = Theme.Font.code.size
        let spaces = (2 * Self.padding * Double(groups.count) + Self.gap * Double(groups.count - 1)) * plainEm
        let plainWidth = plain.reduce(spaces) { $0 + $1.width }
        let plainHeight = (plain.map(\.height).max() ?? plainEm) + Self.padding * plainEm
        // At least as large as the other text, unless there isn't enough width.
        let wanted = max(scale, wantedHeight / plainHeight)
        let size = min(wanted, maxWidth / plainWidth * 0.98)
        em = plainEm * size
        self.groups = groups.map { TextBlock($0, .code, scale: size, maxWidth: .infinity) }
    }

    func add(to column: inout Column) {
        let padding = Self.padding * em
        let gap = Self.gap * em
        let height = (groups.map(\.height).max() ?? em) + padding
        let width = groups.reduce(gap * Double(groups.count - 1)) { $0 + $1.width + 2 * padding }
        column.add(width: width, height: height, gap: em * 0.45) { [groups, em] pen, x, y in
            var x = x
            for group in groups {
                let tile = group.width + 2 * padding
                pen.fill(x: x, y: y, width: tile, height: height, radius: em * 0.23, Theme.tile)
                pen.draw(
                    group, x: (x + padding).rounded(), y: (y + (height - group.height) / 2).rounded(), Theme.text)
                x += tile + gap
            }
        }
    }
}
