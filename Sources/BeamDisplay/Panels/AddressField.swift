import BeamMedia
import CPango

/// The line below a list in which a person types an address.
struct AddressField: Hashable {
    /// In bytes of UTF-8: more than any address or name has.
    static let longest = 300

    var text = NoteEntry(limit: longest)
    /// What is typed goes here, and not to the list.
    var isFocused = false
    /// Of what is typed; nil: nothing is.
    var verdict: AddressVerdict?

    /// What is typed, without blanks at both ends.
    var address: String { VisibleText.cleaned(text.before + text.after) }
}

/// Draws the line, and what is said about it, at one scale.
struct AddressLine {
    private static let placeholder = "Or type an address: 192.0.2.7"

    private let field: AddressField
    private let scale: Double
    private let width: Double
    private let text: RichText
    let height: Double

    init(_ field: AddressField, scale: Double, width: Double) {
        self.field = field
        self.scale = scale
        self.width = width
        let entry = field.text
        let whole = entry.before + entry.composed + entry.after
        let style = RichText.Style(colour: Theme.text)
        let spans =
            whole.isEmpty && !field.isFocused
            ? [RichText.Span(text: Self.placeholder, style: RichText.Style(colour: Theme.muted))]
            : [
                RichText.Span(text: entry.before, style: style),
                RichText.Span(text: entry.composed, style: RichText.Style(colour: Theme.text, isUnderlined: true)),
                RichText.Span(text: entry.after, style: style),
            ]
        // One line, whatever its length; an address is written from left to right.
        text = RichText(spans, .field, scale: scale, maxWidth: 100_000, directedBy: "")
        height = (44 * scale).rounded()
    }

    private var isFault: Bool { if case .bad = field.verdict { true } else { false } }

    /// - Returns: the cursor's rectangle in the pen's pixels; nil: it has none.
    func draw(on pen: Pen, x: Double, y: Double) -> PixelRect? {
        let padding = (14 * scale).rounded()
        let radius = 10 * scale
        let frame = field.isFocused ? (isFault ? Theme.warning : Theme.accent) : Theme.boxBorder
        pen.fill(x: x, y: y, width: width, height: height, radius: radius, Theme.tile.opacity(0.05))
        pen.frame(
            x: x, y: y, width: width, height: height, radius: radius, line: max(1, (field.isFocused ? 2 : 1) * scale),
            frame)
        let cursor = text.cursor(field.text.before.utf8.count + field.text.composedCursor)
        let room = max(1, width - 2 * padding)
        // Text that is too long is moved so that the cursor is visible.
        let shift = max(0, (cursor.x - room + 2 * scale).rounded(.up))
        let top = (y + (height - text.height) / 2).rounded()
        cairo_save(pen.raw)
        cairo_rectangle(pen.raw, x + padding, y, room, height)
        cairo_clip(pen.raw)
        text.draw(0..<min(1, text.lines.count), on: pen, x: x + padding - shift, y: top)
        cairo_restore(pen.raw)
        guard field.isFocused else { return nil }
        let caret = (x: (x + padding + cursor.x - shift).rounded(), y: top + cursor.top)
        let line = max(1, (1.5 * scale).rounded())
        pen.fill(x: caret.x, y: caret.y, width: line, height: cursor.bottom - cursor.top, radius: 0, Theme.accent)
        return PixelRect(
            x: Int(caret.x), y: Int(caret.y), width: Int(line), height: Int(cursor.bottom - cursor.top))
    }

    /// What is wrong with the address, or may be; nil: nothing.
    func words(maxLines: Int) -> (block: TextBlock, colour: Theme.Colour)? {
        guard let words = field.verdict?.words else { return nil }
        let block = TextBlock(
            VisibleText.cleaned(words), .small, scale: scale, maxWidth: width, maxLines: maxLines, alignment: .centre)
        return (block, isFault ? Theme.warning : Theme.muted)
    }
}
