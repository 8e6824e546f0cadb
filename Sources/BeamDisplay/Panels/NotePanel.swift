import BeamMedia
import CPango

/// The line at the window's lower edge in which a person writes a note.
enum NotePanel {
    /// Longer notes show the lines around the cursor.
    private static let mostLines = 4

    /// - Parameter recipient: the name of the one of several sources that gets the note; nil: there is one source.
    /// - Returns: the layer, and the cursor's rectangle in the window, for input methods.
    static func layer(
        _ note: NoteEntry, mayBeSent: Bool, recipient: String? = nil, canvas: PixelSize, scale: Double
    ) -> (layer: Layer, cursor: PixelRect) {
        let margin = (10 * scale).rounded()
        let padding = (x: (12 * scale).rounded(), y: (8 * scale).rounded())
        let width = Double(canvas.width) - 2 * margin
        let hint = TextBlock(
            hint(note, mayBeSent: mayBeSent, recipient: recipient), .small, scale: scale,
            maxWidth: width - 2 * padding.x)
        let room = max(1, width - 2 * padding.x)
        let text = text(note, scale: scale, width: room)
        let cursor = text.cursor(note.before.utf8.count + note.composedCursor)
        let lineHeight = max(1, text.height / Double(text.lines.count))
        let most = max(1, min(mostLines, Int(Double(canvas.height) * 0.5 / lineHeight)))
        let cursorLine = text.lines.lastIndex { $0.top <= cursor.top + 1 } ?? 0
        let first = max(0, cursorLine - most + 1)
        let shown = first..<min(text.lines.count, first + most)
        let textHeight = text.lines[shown.upperBound - 1].bottom - text.lines[first].top
        let gap = (3 * scale).rounded()
        let size = PixelSize(
            width: max(1, Int(width)), height: Int((2 * padding.y + textHeight + gap + hint.height).rounded(.up)))
        let place = (x: Int(margin), y: max(0, canvas.height - size.height - Int(margin)))
        let caret = (
            x: (padding.x + cursor.x).rounded(), y: (padding.y + cursor.top - text.lines[first].top).rounded(),
            width: max(1, (1.5 * scale).rounded()), height: cursor.bottom - cursor.top
        )
        let bitmap = Bitmap(size) { pen in
            let (width, height) = (Double(size.width), Double(size.height))
            pen.fill(x: 0, y: 0, width: width, height: height, radius: 10 * scale, Theme.panel)
            pen.frame(
                x: 0, y: 0, width: width, height: height, radius: 10 * scale, line: max(1, 1.5 * scale),
                Theme.accent.opacity(0.8))
            text.draw(shown, on: pen, x: padding.x, y: padding.y)
            pen.fill(
                x: min(caret.x, width - padding.x), y: caret.y, width: caret.width, height: caret.height, radius: 0,
                Theme.accent)
            pen.draw(
                hint, x: padding.x, y: padding.y + textHeight + gap, mayBeSent ? Theme.muted : Theme.warning)
        }
        return (
            Layer(bitmap: bitmap, x: place.x, y: place.y),
            PixelRect(
                x: place.x + Int(caret.x), y: place.y + Int(caret.y), width: Int(caret.width),
                height: Int(caret.height))
        )
    }

    private static func hint(_ note: NoteEntry, mayBeSent: Bool, recipient: String?) -> String {
        guard mayBeSent else { return "Notes can't be sent at the moment · Esc cancels" }
        let keys =
            recipient.map { "Enter sends to everybody at “\($0)” · Esc cancels" }
            ?? "Enter sends to everybody here · Esc cancels"
        let bytes = note.bytes
        guard bytes * 10 >= NoteEntry.longest * 9 else { return keys }
        return "\(bytes) of \(NoteEntry.longest) bytes · " + keys
    }

    private static func text(_ note: NoteEntry, scale: Double, width: Double) -> RichText {
        let style = RichText.Style(colour: Theme.text)
        let whole = note.before + note.composed + note.after
        guard !whole.isEmpty else {
            return RichText(
                [RichText.Span(text: "Write a note", style: RichText.Style(colour: Theme.muted))], .note, scale: scale,
                maxWidth: width, directedBy: "")
        }
        return RichText(
            [
                RichText.Span(text: note.before, style: style),
                RichText.Span(text: note.composed, style: RichText.Style(colour: Theme.text, isUnderlined: true)),
                RichText.Span(text: note.after, style: style),
            ], .note, scale: scale, maxWidth: width, directedBy: whole)
    }
}
