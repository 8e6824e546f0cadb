import BeamMedia
import CPango

/// A line of the transcript, laid out: its time at the left, name and text beside it.
@MainActor final class TranscriptRow {
    let height: Double
    private let kind: TranscriptLine.Kind
    private let time: TextBlock
    private let text: RichText
    /// Says that only the text's beginning is shown, and where the rest is.
    private let cut: TextBlock?
    /// Of the time, and of name and text.
    private let timeIndent: Double
    private let indent: Double
    private let padding: Double

    init(_ entry: Transcript.Entry, width: Double, scale: Double) {
        let line = entry.line
        kind = line.kind
        padding = (5 * scale).rounded()
        time = TextBlock(Self.words(line.time), .small, scale: scale, maxWidth: .infinity)
        timeIndent = padding + (3 * scale).rounded()
        indent = timeIndent + time.width + (10 * scale).rounded()
        let room = max(1, width - indent - padding)
        let colour = line.kind == .alert ? Theme.warning : Theme.text
        text = RichText(
            name: line.voice.map { VisibleText.name($0) },
            RichText.Style(
                colour: line.kind == .alert ? Theme.warning : line.kind == .note ? Theme.accentOnPlate : Theme.speaker,
                isBold: true),
            text: VisibleText.cleaned(line.text, breaks: .kept, joiners: .kept), RichText.Style(colour: colour),
            .transcript, scale: scale, maxWidth: room)
        cut =
            entry.hidden == 0
            ? nil
            : TextBlock(
                "… This is only the beginning. “watch --transcript FILE” writes the whole text to a file.", .small,
                scale: scale, maxWidth: room, maxLines: 3)
        height = text.height + (cut?.height ?? 0) + 2 * padding
    }

    /// Down to the end of the text.
    var textHeight: Double { height - padding }

    func draw(on pen: Pen, x: Double, y: Double, width: Double, scale: Double) {
        if kind == .alert {
            pen.fill(x: x, y: y, width: width, height: height, radius: 6 * scale, Theme.warning.opacity(0.10))
            pen.fill(x: x, y: y, width: (3 * scale).rounded(), height: height, radius: scale, Theme.warning)
        }
        let top = y + padding
        // On the base line of the text's first line, approximately.
        let first = text.lines[0].bottom - text.lines[0].top
        pen.draw(
            time, x: x + timeIndent, y: top + ((first - time.height) * 0.6).rounded(), Theme.muted)
        text.draw(text.lines.indices, on: pen, x: x + indent, y: top)
        if let cut { pen.draw(cut, x: x + indent, y: top + text.height, Theme.muted) }
    }

    /// `1:02:03`
    static func words(_ time: Duration) -> String {
        let seconds = max(0, time.components.seconds)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }

    /// `65,536`
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && (digits.count - index) % 3 == 0 ? [",", digit] : [digit]
            })
    }
}

/// What is around the lines: a title, the heading, and a hint at the bottom.
@MainActor struct TranscriptFrame {
    /// The part for the lines, in pixels of the panel.
    struct Body {
        var x: Double
        var y: Double
        var width: Double
        var height: Double
    }

    let body: Body
    private let size: PixelSize
    private let scale: Double
    private let margin: Double
    private let title: TextBlock
    private let heading: TextBlock
    private let count: Int
    private let first: Int

    init(_ transcript: Transcript, size: PixelSize, scale: Double) {
        self.size = size
        self.scale = scale
        count = transcript.numbers.count
        first = transcript.first
        margin = (12 * scale).rounded()
        let width = Double(size.width) - 2 * margin
        title = TextBlock("Transcript", .row, scale: scale, maxWidth: width)
        heading = TextBlock(Self.words(transcript), .small, scale: scale, maxWidth: width, maxLines: 2)
        let top = margin + title.height + heading.height + (10 * scale).rounded()
        let footer = (Theme.Font.small.size * 1.5 * scale).rounded() + margin
        body = Body(
            x: margin, y: top, width: max(1, width - (8 * scale).rounded()),
            height: max(1, Double(size.height) - top - footer))
    }

    private static func words(_ transcript: Transcript) -> String {
        switch transcript.heading {
        case .nothingYet: "Nothing has been said yet."
        case .complete where transcript.numbers.isEmpty: "Nothing has been said yet."
        case .arriving: "What was written before is still coming"
        case .notOffered: "This host sends no captions and notes."
        case .complete: "Complete, from the beginning of the session"
        case .since(let time): "From \(TranscriptRow.words(time)); what was before isn't kept"
        }
    }

    /// - Parameters:
    ///   - below: the number of lines of which something is below the visible part.
    ///   - shown: the numbers of the visible lines.
    func draw(on pen: Pen, below: Int, isAtEnd: Bool, shown: Range<Int>?) {
        let (width, height) = (Double(size.width), Double(size.height))
        pen.fill(x: 0, y: 0, width: width, height: height, radius: 0, Theme.panel)
        pen.draw(title, x: margin, y: margin, Theme.text)
        pen.draw(heading, x: margin, y: margin + title.height, Theme.muted)
        pen.fill(
            x: margin, y: body.y - (5 * scale).rounded(), width: width - 2 * margin, height: max(1, scale.rounded()),
            radius: 0, Theme.boxBorder)
        let hint = hint(Self.hints(below: isAtEnd ? nil : below), width: width - 2 * margin)
        pen.draw(hint, x: margin, y: (height - margin / 2 - hint.height).rounded(), Theme.muted)
        if let shown, !isAtEnd || shown.lowerBound > first { drawScrollBar(on: pen, shown) }
    }

    /// What the keys do, the longest first; `below` is nil at the end.
    static func hints(below: Int?) -> [String] {
        let keys = "↑ ↓ scroll · t closes"
        guard let below else { return [keys] }
        let more = "\(below > 0 ? "\(TranscriptRow.grouped(below)) more below" : "More below"): End goes there"
        return ["\(more) · \(keys)", "\(more) · t closes", more]
    }

    /// The first that has room.
    private func hint(_ hints: [String], width: Double) -> TextBlock {
        for words in hints.dropLast() {
            let hint = TextBlock(words, .small, scale: scale, maxWidth: .infinity)
            if hint.width <= width { return hint }
        }
        return TextBlock(hints.last ?? "", .small, scale: scale, maxWidth: width)
    }

    /// By numbers of lines: how high the others are isn't known.
    private func drawScrollBar(on pen: Pen, _ shown: Range<Int>) {
        let share = Double(shown.count) / Double(max(1, count))
        let length = min(body.height, max(24 * scale, body.height * share))
        let way = Double(max(1, count - shown.count))
        let y = body.y + (body.height - length) * min(1, Double(shown.lowerBound - first) / way)
        pen.fill(
            x: Double(size.width) - margin, y: y, width: (4 * scale).rounded(), height: length, radius: 2 * scale,
            Theme.boxBorder)
    }
}

extension Pen {
    /// Limits drawing to a rectangle from now on.
    @MainActor func clip(to body: TranscriptFrame.Body) {
        cairo_rectangle(raw, body.x, body.y, body.width, body.height)
        cairo_clip(raw)
    }
}
