import BeamMedia

/// The state of a warning: shown in full at first and after the pointer moves, otherwise reduced to an icon.
struct WarningBadge: Hashable {
    let warning: WindowWarning
    private(set) var isFull = true
    /// When the full text is reduced to the icon. Nil before the first picture, and once it is reduced.
    private(set) var deadline: MediaTime?

    init(_ warning: WindowWarning) { self.warning = warning }

    /// Shows the full text again for its time.
    mutating func showInFull(now: MediaTime) {
        isFull = true
        deadline = now + warning.time
    }

    mutating func shortenIfDue(now: MediaTime) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        isFull = false
    }
}

enum WarningPanel {
    /// The badge in `area` at a position that overlaps none of `others`: the full text at the lower or upper edge, or
    /// beside those of them that are at the `edges`, or else the icon in a corner. Nil if none fits.
    static func layer(
        _ warning: WindowWarning, isFull: Bool, area: PixelRect, scale: Double, avoiding others: [PixelRect],
        edges: [PixelRect]
    ) -> Layer? {
        let margin = Int((12 * scale).rounded())
        func isFree(_ layer: Layer) -> Bool { others.allSatisfy { $0.intersection(layer.rect).isEmpty } }
        guard !area.isEmpty else { return nil }
        if isFull {
            // The full text is shown for seconds only and may grow with the window. The icon stays, so it stays small.
            let large = max(scale, min(Double(area.width) / 1280, Double(area.height) / 720, 2))
            let bitmap = words(warning, canvas: area.size, scale: large)
            let x = area.x + (area.width - bitmap.size.width) / 2
            let height = bitmap.size.height
            let middle = area.y + area.height / 2
            let beside = edges.map { $0.y > middle ? $0.y - margin - height : $0.maxY + margin }
                .filter { $0 >= area.y && $0 + height <= area.maxY }
            for y in [max(area.y, area.maxY - height - margin), area.y + margin] + beside {
                let layer = Layer(bitmap: bitmap, x: x, y: y)
                if isFree(layer) { return layer }
            }
        }
        let bitmap = sign(warning, canvas: area.size, scale: scale)
        let (left, top) = (area.x + margin, area.y + margin)
        let (right, bottom) = (area.maxX - bitmap.size.width - margin, area.maxY - bitmap.size.height - margin)
        for (x, y) in [(right, bottom), (right, top), (left, bottom), (left, top)] {
            let layer = Layer(bitmap: bitmap, x: max(area.x, x), y: max(area.y, y))
            if isFree(layer) { return layer }
        }
        return nil
    }

    private static func words(_ warning: WindowWarning, canvas: PixelSize, scale: Double) -> Bitmap {
        let font = Theme.Font.detail
        let padding = (12 * scale).rounded()
        let lock = warning.hasPadlock ? (font.size * 1.4 * scale).rounded() : 0
        let gap = warning.hasPadlock ? (10 * scale).rounded() : 0
        let limit = Double(canvas.width) - 24 * scale - 2 * padding - lock - gap
        let words = TextBlock(warning.words, font, scale: scale, maxWidth: max(1, limit), maxLines: 8)
        return panel(
            PixelSize(
                width: min(canvas.width, Int((2 * padding + lock + gap + words.width).rounded(.up))),
                height: min(canvas.height, Int((2 * padding + max(lock, words.height)).rounded(.up)))), scale
        ) { pen, height in
            if lock > 0 { Padlock.drawOpen(pen, x: padding, y: ((height - lock) / 2).rounded(), side: lock) }
            pen.draw(words, x: padding + lock + gap, y: ((height - words.height) / 2).rounded(), Theme.text)
        }
    }

    private static func sign(_ warning: WindowWarning, canvas: PixelSize, scale: Double) -> Bitmap {
        guard warning.hasPadlock else { return line(warning.short ?? warning.words, canvas: canvas, scale: scale) }
        // Below 16 pixels the open padlock looks like a closed one.
        let lock = max(16, (20 * scale).rounded())
        let padding = max(3, (7 * scale).rounded())
        let gap = (6 * scale).rounded()
        let words = warning.short.map { TextBlock($0, .small, scale: scale, maxWidth: .infinity) }
            .flatMap { $0.width <= Double(canvas.width) * 0.3 ? $0 : nil }
        let width = 2 * padding + lock + (words.map { gap + $0.width } ?? 0)
        return panel(
            PixelSize(width: Int(width.rounded(.up)), height: Int((2 * padding + lock).rounded(.up))), scale
        ) { pen, height in
            Padlock.drawOpen(pen, x: padding, y: padding, side: lock)
            if let words {
                pen.draw(words, x: padding + lock + gap, y: ((height - words.height) / 2).rounded(), Theme.text)
            }
        }
    }

    /// As much of the text as fits in a part of the window.
    private static func line(_ text: String, canvas: PixelSize, scale: Double) -> Bitmap {
        let padding = max(3, (7 * scale).rounded())
        let words = TextBlock(
            text, .small, scale: scale, maxWidth: max(1, Double(canvas.width) * 0.4 - 2 * padding), maxLines: 1)
        return panel(
            PixelSize(
                width: Int((2 * padding + words.width).rounded(.up)),
                height: Int((2 * padding + words.height).rounded(.up))), scale
        ) { pen, _ in pen.draw(words, x: padding, y: padding, Theme.text) }
    }

    /// Dark with a bright border, so that it stands out on bright and dark pictures.
    private static func panel(_ size: PixelSize, _ scale: Double, _ draw: (Pen, _ height: Double) -> Void) -> Bitmap {
        Bitmap(size) { pen in
            let (width, height) = (Double(size.width), Double(size.height))
            pen.fill(x: 0, y: 0, width: width, height: height, radius: 10 * scale, Theme.panel)
            pen.frame(
                x: 0, y: 0, width: width, height: height, radius: 10 * scale, line: max(1, 1.5 * scale),
                Theme.warning.opacity(0.8))
            draw(pen, height)
        }
    }
}

/// An open padlock with its shackle swung to the side, so that even a small one differs from a closed one.
enum Padlock {
    /// Draws it in the square of `side` pixels with its top left corner at (x, y).
    static func drawOpen(_ pen: Pen, x: Double, y: Double, side: Double) {
        let unit = side / 24
        pen.fill(
            x: x + 1 * unit, y: y + 11 * unit, width: 14 * unit, height: 11.5 * unit, radius: 2.4 * unit, Theme.warning)
        pen.arch(
            x: x + 12 * unit, y: y + 11.5 * unit, width: 9 * unit, height: 9 * unit, otherLeg: 2.5 * unit,
            line: 2.6 * unit, Theme.warning)
    }
}
