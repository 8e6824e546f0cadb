import BeamMedia

/// Lines of small text in an upper corner of the window: statistics at the left, people at the right.
enum TablePanel {
    enum Corner: Hashable {
        case left, right
    }

    /// The smallest text, as a part of `scale`, that is tried before lines are left out.
    private static let leastScale = 0.7

    /// A tab in a line separates label and value; values are aligned in a column. Beside `others` the text gets a little
    /// smaller. Of the last lines, those are left out that would be under one of them all the same, and the last one
    /// that is shown says how many; nil if there is room for none.
    static func layer(
        _ lines: [String], in corner: Corner, canvas: PixelSize, scale: Double, avoiding others: [PixelRect]
    ) -> Layer? {
        for part in [1, 0.85, leastScale] {
            let table = table(lines, in: corner, canvas: canvas, scale: scale * part, avoiding: others)
            if let table, table.left == 0 { return table.layer }
        }
        let scale = scale * leastScale
        for count in stride(from: lines.count - 1, to: 0, by: -1) {
            let shown = lines.prefix(count) + ["… \(lines.count - count) more"]
            let table = table(Array(shown), in: corner, canvas: canvas, scale: scale, avoiding: others)
            if let table, table.left == 0 { return table.layer }
        }
        return table(lines, in: corner, canvas: canvas, scale: scale, avoiding: others)?.layer
    }

    /// - Returns: how many lines were left out, too.
    private static func table(
        _ lines: [String], in corner: Corner, canvas: PixelSize, scale: Double, avoiding others: [PixelRect]
    ) -> (layer: Layer, left: Int)? {
        let margin = (12 * scale).rounded()
        let padding = (12 * scale).rounded()
        let gap = (16 * scale).rounded()
        let limit = max(1, Double(canvas.width) - 2 * (margin + padding))
        let parts = lines.map {
            $0.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        func block(_ text: String, _ width: Double, lines: Int = 1) -> TextBlock {
            TextBlock(text, .statistics, scale: scale, maxWidth: width, maxLines: lines)
        }
        // Long labels, as names are, leave some room for the values.
        let values = parts.filter { $0.count > 1 }.map { block($0[1], limit).width }.max()
        let most = values.map { max(limit * 0.55, limit - gap - $0) } ?? limit
        let labels = parts.map { block($0[0], $0.count > 1 ? most : limit) }
        let column = zip(parts, labels).filter { $0.0.count > 1 }.map(\.1.width).max().map { $0 + gap } ?? 0
        let room = max(1, limit - column)
        var rows = zip(parts, labels).map { parts, label in
            Row(
                label: label,
                value: parts.count > 1 ? block(parts[1], room, lines: 3) : nil)
        }
        let leading = (4 * scale).rounded()
        func place() -> PixelRect {
            let inner = rows.map { row in row.value.map { column + $0.width } ?? row.label.width }.max() ?? 0
            let height = rows.reduce(0) { $0 + $1.height } + leading * Double(max(0, rows.count - 1))
            let size = PixelSize(
                width: min(canvas.width, Int((inner + 2 * padding).rounded(.up))),
                height: min(canvas.height, Int((height + 2 * padding).rounded(.up))))
            let x = min(Int(margin), canvas.width - size.width)
            return PixelRect(
                x: corner == .left ? x : canvas.width - size.width - x,
                y: min(Int(margin), canvas.height - size.height),
                width: size.width, height: size.height)
        }
        while !rows.isEmpty, others.contains(where: { !place().intersection($0).isEmpty }) { rows.removeLast() }
        guard !rows.isEmpty else { return nil }
        let rect = place()
        let bitmap = Bitmap(rect.size) { pen in
            pen.fill(
                x: 0, y: 0, width: Double(rect.width), height: Double(rect.height), radius: 10 * scale, Theme.panel)
            var y = padding
            for row in rows {
                pen.draw(row.label, x: padding, y: y, row.value == nil ? Theme.text : Theme.muted)
                if let value = row.value { pen.draw(value, x: padding + column, y: y, Theme.text) }
                y += row.height + leading
            }
        }
        return (Layer(bitmap: bitmap, x: rect.x, y: rect.y), lines.count - rows.count)
    }

    private struct Row {
        var label: TextBlock
        var value: TextBlock?

        var height: Double { max(label.height, value?.height ?? 0) }
    }
}
