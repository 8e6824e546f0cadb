import BeamMedia

/// The state of a notice: shown for its time, then gone.
struct Notice: Hashable {
    let notice: WindowNotice
    private(set) var isShown = true
    /// When it goes; nil: not by itself, or it has gone.
    private(set) var deadline: MediaTime?

    init(_ notice: WindowNotice, now: MediaTime) {
        self.notice = notice
        deadline = notice.time.map { now + $0 }
    }

    mutating func hideIfDue(now: MediaTime) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        isShown = false
    }
}

/// A sentence at the window's edge that doesn't interrupt watching.
enum NoticePanel {
    /// In bytes of UTF-8.
    private static let longestText = 512
    /// Some sentences with names in them, in a narrow window.
    private static let mostLines = 10

    /// The notice, in as many lines as half of `area` has room for, and at least two. It is in the middle of the upper
    /// edge of `area`, or else of its lower edge, where it overlaps none of `others`; or else at the upper edge over all but
    /// `captions`.
    static func layer(
        _ notice: WindowNotice, in area: PixelRect, scale: Double, avoiding others: [PixelRect], captions: PixelRect?
    ) -> Layer? {
        let margin = Int((12 * scale).rounded())
        let width = area.width - 2 * margin
        var bitmap = bitmap(notice, width: width, lines: mostLines, scale: scale)
        for lines in stride(from: mostLines - 1, through: 2, by: -1) where bitmap.size.height * 2 > area.height {
            bitmap = self.bitmap(notice, width: width, lines: lines, scale: scale)
        }
        let x = area.x + (area.width - bitmap.size.width) / 2
        let bottom = (captions?.y ?? area.maxY) - margin - bitmap.size.height
        func layer(_ y: Int, avoiding others: [PixelRect]) -> Layer? {
            let layer = Layer(bitmap: bitmap, x: x, y: y)
            guard y >= area.y, others.allSatisfy({ $0.intersection(layer.rect).isEmpty }) else { return nil }
            return layer
        }
        return layer(area.y + margin, avoiding: others) ?? layer(bottom, avoiding: others)
            ?? layer(area.y + margin, avoiding: [captions].compactMap(\.self))
    }

    private static func bitmap(_ notice: WindowNotice, width: Int, lines: Int, scale: Double) -> Bitmap {
        let padding = (x: (14 * scale).rounded(), y: (8 * scale).rounded())
        let dot = (8 * scale).rounded()
        let gap = (10 * scale).rounded()
        let text = TextBlock(
            VisibleText.cleaned(VisibleText.start(of: notice.text, bytes: longestText).text), .notice, scale: scale,
            maxWidth: Double(width) - 2 * padding.x - dot - gap, maxLines: lines)
        let size = PixelSize(
            width: min(max(1, width), Int((text.width + 2 * padding.x + dot + gap).rounded(.up))),
            height: Int((text.height + 2 * padding.y).rounded(.up)))
        return Bitmap(size) { pen in
            let (width, height) = (Double(size.width), Double(size.height))
            let colour = notice.isWarning ? Theme.warning : Theme.accent
            pen.fill(x: 0, y: 0, width: width, height: height, radius: 10 * scale, Theme.panel)
            pen.frame(
                x: 0, y: 0, width: width, height: height, radius: 10 * scale, line: max(1, scale),
                colour.opacity(0.6))
            pen.fill(
                x: padding.x, y: ((height - dot) / 2).rounded(), width: dot, height: dot, radius: dot / 2, colour)
            pen.draw(text, x: padding.x + dot + gap, y: padding.y, Theme.text)
        }
    }
}
