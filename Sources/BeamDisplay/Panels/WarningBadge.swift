import BeamMedia

/// Words at the window's lower edge that a person should not forget: all of them at first, and when the pointer moves; the short form ever after.
struct WarningBadge: Hashable {
    static let fullTime = Duration.seconds(8)

    var warning: WindowWarning
    var isFull = true

    static func layer(_ badge: WarningBadge, canvas: PixelSize, scale: Double) -> Layer {
        let padding = (10 * scale).rounded()
        let margin = (12 * scale).rounded()
        let mark = (10 * scale).rounded()
        let limit = max(1, Double(canvas.width) - 2 * (margin + padding) - 2 * mark)
        let words = TextBlock(
            badge.isFull ? badge.warning.words : badge.warning.short, .small, scale: scale, maxWidth: limit,
            maxLines: badge.isFull ? 3 : 1, alignment: .centre)
        let size = PixelSize(
            width: min(canvas.width, Int((words.width + 2 * padding + 2 * mark).rounded(.up))),
            height: min(canvas.height, Int((words.height + 2 * padding).rounded(.up))))
        let bitmap = Bitmap(size) { pen in
            pen.fill(
                x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 10 * scale, Theme.panel)
            // A round mark in the warning's colour, as tall as a letter.
            pen.fill(
                x: padding, y: (Double(size.height) - mark) / 2, width: mark, height: mark, radius: mark / 2,
                Theme.warning)
            pen.draw(words, x: (padding + 2 * mark).rounded(), y: padding, Theme.text)
        }
        return Layer(
            bitmap: bitmap, x: (canvas.width - size.width) / 2,
            y: max(0, canvas.height - size.height - Int(margin)))
    }
}
