import BeamMedia

/// A QR code in the middle of the window, and below it what it says: dark on white, as readers expect it, with the margin of
/// four modules that ISO/IEC 18004 (clause 7.3.4 of the 2015 edition) requires.
enum WindowCodePanel {
    private static let margin = 4
    /// The code's side with its margin, as a part of the window's shorter side.
    private static let share = 0.62
    private static let white = Theme.Colour(red: 1, green: 1, blue: 1)
    private static let black = Theme.Colour(red: 0, green: 0, blue: 0)

    static func layer(_ code: WindowCode, canvas: PixelSize, scale: Double) -> Layer {
        Column.draw(canvas: canvas, scale: scale, isOverPicture: true) { measure in
            var column = Column()
            // In the smallest windows the words are shown alone, rather than cut.
            if let modules = code.modules, measure.mostLines == Column.Measure.allLines {
                add(modules, to: &column, side: Double(min(canvas.width, canvas.height)) * share * measure.shrinking)
            }
            let width = min(measure.width, 560 * measure.scale)
            for (text, font, colour) in [
                (code.headline, Theme.Font.headline, Theme.text), (code.detail, .detail, Theme.muted),
            ] {
                let block = TextBlock(
                    VisibleText.cleaned(text), font, scale: measure.scale, maxWidth: width,
                    maxLines: measure.mostLines, alignment: .centre)
                column.add(block, gap: 10 * measure.scale, colour)
            }
            return column
        }.layer
    }

    /// Modules have a whole number of pixels, at least one, so that their edges are sharp.
    private static func add(_ modules: WindowCode.Modules, to column: inout Column, side: Double) {
        let count = modules.width + 2 * margin
        let module = max(1, (side / Double(count)).rounded(.down))
        let side = module * Double(count)
        column.add(width: side, height: side, gap: 0) { pen, x, y in
            let (x, y) = (x.rounded(), y.rounded())
            pen.fill(x: x, y: y, width: side, height: side, radius: 0, white)
            for row in 0..<modules.width {
                for position in 0..<modules.width where modules.isDark(position, row) {
                    pen.fill(
                        x: x + Double(position + margin) * module, y: y + Double(row + margin) * module,
                        width: module, height: module, radius: 0, black)
                }
            }
        }
    }
}
