import BeamMedia

/// Captions over the lower edge of the picture.
enum CaptionPanel {
    /// The greatest number of lines of text.
    static let mostLines = 3
    /// Of one caption, in bytes of UTF-8, a quarter more at times: more than three lines hold.
    static let longestText = 1024

    /// Captions as they are drawn: the newest few, cleaned, each cut to its end. Of a note, the beginning is kept, in one
    /// paragraph: it says whose it is, and nobody has read it growing.
    static func prepared(_ captions: [WindowCaption]) -> [WindowCaption] {
        captions.suffix(mostLines).compactMap { caption in
            var caption = caption
            caption.text = VisibleText.cleaned(
                caption.isNote
                    ? VisibleText.start(of: caption.text, bytes: longestText).text
                    : VisibleText.end(of: caption.text, bytes: longestText),
                breaks: caption.isNote ? .joined : .kept, joiners: .kept)
            caption.name = caption.name.map { VisibleText.name($0) }
            return caption.text.isEmpty ? nil : caption
        }
    }

    /// The newest lines of `captions`, which must be prepared, at the lower edge of `area`: as many of three as leave
    /// the upper half of the area and `others` free. Nil if not one does.
    ///
    /// Of a caption that has more lines, the end is shown, after the name and an ellipsis; of a note, the beginning.
    ///
    /// The text begins at the left end of a column in the middle (at the right end, if it is written from there), and not
    /// in its middle: so nothing moves while a caption grows.
    static func layer(
        _ captions: [WindowCaption], in area: PixelRect, scale: Double, avoiding others: [PixelRect]
    ) -> Layer? {
        let font = Theme.Font.caption
        let margin = (12 * scale).rounded()
        let padding = (x: (12 * scale).rounded(), y: (6 * scale).rounded())
        let column = min(Double(area.width) - 2 * (margin + padding.x), 34 * font.size * scale).rounded(.down)
        guard column >= 4 * font.size * scale else { return nil }
        let texts = captions.map { text($0, scale: scale, width: column) }
        let rows = texts.indices.flatMap { text in texts[text].lines.indices.map { (text: text, line: $0) } }
        for count in stride(from: min(mostLines, rows.count), to: 0, by: -1) {
            let shown = rows.suffix(count)
            let parts = texts.indices.compactMap { index -> Part? in
                let lines = shown.filter { $0.text == index }.map(\.line)
                guard let first = lines.first, let last = lines.last else { return nil }
                if first > 0, let short = shortened(captions[index], lines: lines.count, scale: scale, width: column) {
                    return Part(text: short, lines: short.lines.indices)
                }
                return Part(text: texts[index], lines: first..<last + 1)
            }
            let gap = (3 * scale).rounded()
            let height = parts.reduce(2 * padding.y - gap) { $0 + $1.height + gap }
            let left = (parts.map(\.left).min() ?? 0).rounded(.down)
            let right = (parts.map(\.right).max() ?? column).rounded(.up)
            let width = right - left + 2 * padding.x
            let rect = PixelRect(
                x: area.x + Int(((Double(area.width) - column) / 2 + left - padding.x).rounded()),
                y: area.maxY - Int(height + margin), width: Int(width), height: Int(height))
            let fits = count == 1 ? rect.y >= area.y : rect.height * 2 <= area.height
            guard fits, others.allSatisfy({ $0.intersection(rect).isEmpty }) else { continue }
            let bitmap = Bitmap(rect.size) { pen in
                pen.fill(x: 0, y: 0, width: width, height: height, radius: 8 * scale, Theme.plate)
                var y = padding.y
                for part in parts {
                    part.text.draw(part.lines, on: pen, x: padding.x - left, y: y)
                    y += part.height + gap
                }
            }
            return Layer(bitmap: bitmap, x: rect.x, y: rect.y)
        }
        return nil
    }

    private struct Part {
        var text: RichText
        var lines: Range<Int>

        var height: Double { text.lines[lines.upperBound - 1].bottom - text.lines[lines.lowerBound].top }
        var left: Double { text.lines[lines].map(\.left).min() ?? 0 }
        var right: Double { text.lines[lines].map(\.right).max() ?? 0 }
    }

    private static func text(
        _ caption: WindowCaption, lines: Int = mostLines, directedBy whole: String? = nil, scale: Double, width: Double
    ) -> RichText {
        RichText(
            name: caption.name,
            RichText.Style(colour: caption.isNote ? Theme.accentOnPlate : Theme.speaker, isBold: true),
            text: caption.text, RichText.Style(colour: caption.isPartial ? Theme.partial : Theme.text),
            .caption, scale: scale, maxWidth: width, mostLines: caption.isNote ? lines : nil,
            directedBy: whole)
    }

    /// A caption or note in at most `lines` lines, with its name; nil: without a name, or there is no room beside it.
    private static func shortened(
        _ caption: WindowCaption, lines: Int, scale: Double, width: Double
    ) -> RichText? {
        if caption.isNote { return text(caption, lines: lines, scale: scale, width: width) }
        guard caption.name?.isEmpty == false else { return nil }
        var nameless = caption
        nameless.name = nil
        let whole = text(nameless, scale: scale, width: width)
        // Cut where a line begins, so that a caption that grows is wrapped anew with each line only. One line alone is cut
        // anywhere: it may end with a word or two, and would show no more than these.
        let utf8 = caption.text.utf8
        let last = whole.lines.count - 1
        func start(_ line: Int) -> String.Index {
            utf8.index(utf8.startIndex, offsetBy: whole.start(ofLine: max(0, line)))
        }
        var cuts = lines == 1 ? [] : (max(0, last + 1 - lines)...last).map(start)
        cuts += parts(of: caption.text[start(lines == 1 ? last - 1 : last)...])
        for cut in cuts {
            var end = caption
            end.text = "… " + caption.text[cut...]
            let text = text(end, directedBy: caption.text, scale: scale, width: width)
            if text.lines.count <= lines { return text }
        }
        return nil
    }

    /// Places in a line or two, a sixteenth of them apart: at the next word, if one begins soon.
    private static func parts(of line: Substring) -> [String.Index] {
        let count = line.count
        return (1..<16).map { part in
            let index = line.index(line.startIndex, offsetBy: count * part / 16)
            guard let blank = line[index...].prefix(12).firstIndex(of: " ") else { return index }
            return line.index(after: blank)
        }
    }
}
