import BeamMedia

/// What a person should not forget about the picture: in words at first and whenever something moves, else as a sign.
struct WarningBadge: Hashable {
    let warning: WindowWarning
    private(set) var isFull = true
    /// When the words give way to the sign; nil while they stand for good, before the first picture, and when they have.
    private(set) var deadline: MediaTime?

    init(_ warning: WindowWarning) { self.warning = warning }

    /// The words stand from now on, for their time.
    mutating func stir(now: MediaTime) {
        isFull = true
        deadline = now + warning.time
    }

    mutating func shortenIfDue(now: MediaTime) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        isFull = false
    }
}

/// Draws the badge.
enum WarningPanel {
    /// A place where none of `others` is: the words in the middle of the lower or the upper edge, else the sign in a
    /// corner; nil if there is none.
    static func layer(
        _ warning: WindowWarning, isFull: Bool, canvas: PixelSize, scale: Double, avoiding others: [PixelRect]
    ) -> Layer? {
        let margin = Int((12 * scale).rounded())
        func isFree(_ layer: Layer) -> Bool { others.allSatisfy { $0.intersection(layer.rect).isEmpty } }
        if isFull {
            // A sentence for seconds may be large where the window is; the sign stays, and stays small.
            let large = max(scale, min(Double(canvas.width) / 1280, Double(canvas.height) / 720, 2))
            let bitmap = words(warning.words, canvas: canvas, scale: large)
            let x = (canvas.width - bitmap.size.width) / 2
            for y in [max(0, canvas.height - bitmap.size.height - margin), margin] {
                let layer = Layer(bitmap: bitmap, x: x, y: y)
                if isFree(layer) { return layer }
            }
        }
        let bitmap = sign(warning.short, canvas: canvas, scale: scale)
        let (right, bottom) = (canvas.width - bitmap.size.width - margin, canvas.height - bitmap.size.height - margin)
        for (x, y) in [(right, bottom), (right, margin), (margin, bottom), (margin, margin)] {
            let layer = Layer(bitmap: bitmap, x: max(0, x), y: max(0, y))
            if isFree(layer) { return layer }
        }
        return nil
    }

    private static func words(_ text: String, canvas: PixelSize, scale: Double) -> Bitmap {
        let font = Theme.Font.detail
        let padding = (12 * scale).rounded()
        let lock = (font.size * 1.4 * scale).rounded()
        let gap = (10 * scale).rounded()
        let limit = Double(canvas.width) - 24 * scale - 2 * padding - lock - gap
        let words = TextBlock(text, font, scale: scale, maxWidth: max(1, limit), maxLines: 4)
        return panel(
            PixelSize(
                width: min(canvas.width, Int((2 * padding + lock + gap + words.width).rounded(.up))),
                height: min(canvas.height, Int((2 * padding + max(lock, words.height)).rounded(.up)))), scale
        ) { pen, height in
            Padlock.drawOpen(pen, x: padding, y: ((height - lock) / 2).rounded(), side: lock)
            pen.draw(words, x: padding + lock + gap, y: ((height - words.height) / 2).rounded(), Theme.text)
        }
    }

    private static func sign(_ text: String?, canvas: PixelSize, scale: Double) -> Bitmap {
        // Smaller, it couldn't be told from a closed one.
        let lock = max(16, (20 * scale).rounded())
        let padding = max(3, (7 * scale).rounded())
        let gap = (6 * scale).rounded()
        let words = text.map { TextBlock($0, .small, scale: scale, maxWidth: .infinity) }
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

    /// Dark, so that it is seen on anything bright, with a bright border, so that it is seen on anything dark.
    private static func panel(_ size: PixelSize, _ scale: Double, _ draw: (Pen, _ height: Double) -> Void) -> Bitmap {
        Bitmap(size) { pen in
            let (width, height) = (Double(size.width), Double(size.height))
            pen.fill(x: 0, y: 0, width: width, height: height, radius: 10 * scale, Theme.panel.opacity(0.88))
            pen.frame(
                x: 0, y: 0, width: width, height: height, radius: 10 * scale, line: max(1, 1.5 * scale),
                Theme.warning.opacity(0.8))
            draw(pen, height)
        }
    }
}

/// A padlock that isn't closed, its shackle swung out beside it: told from a closed one at a glance, however small.
enum Padlock {
    /// Draws it into the square of `side` pixels with its top left corner at (x, y).
    static func drawOpen(_ pen: Pen, x: Double, y: Double, side: Double) {
        let unit = side / 24
        pen.fill(
            x: x + 1 * unit, y: y + 11 * unit, width: 14 * unit, height: 11.5 * unit, radius: 2.4 * unit, Theme.warning)
        pen.arch(
            x: x + 12 * unit, y: y + 11.5 * unit, width: 9 * unit, height: 9 * unit, otherLeg: 2.5 * unit,
            line: 2.6 * unit, Theme.warning)
    }
}
