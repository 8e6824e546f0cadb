import BeamMedia

/// Statistics in small text at the window's upper left.
enum StatisticsPanel {
    /// A tab in a line separates label and value; values are aligned in a column.
    static func layer(_ lines: [String], canvas: PixelSize, scale: Double) -> Layer {
        let margin = (12 * scale).rounded()
        let padding = (12 * scale).rounded()
        let gap = (16 * scale).rounded()
        let limit = max(1, Double(canvas.width) - 2 * (margin + padding))
        let rows = lines.map { line -> (label: TextBlock, value: TextBlock?) in
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let label = TextBlock(parts[0], .statistics, scale: scale, maxWidth: limit)
            return (
                label,
                parts.count > 1 ? TextBlock(parts[1], .statistics, scale: scale, maxWidth: limit) : nil
            )
        }
        let column = rows.filter { $0.value != nil }.map(\.label.width).max().map { $0 + gap } ?? 0
        let inner = rows.map { row in row.value.map { column + $0.width } ?? row.label.width }.max() ?? 0
        let leading = (4 * scale).rounded()
        let height = rows.reduce(0) { $0 + $1.label.height } + leading * Double(max(0, rows.count - 1))
        let size = PixelSize(
            width: min(canvas.width, Int((inner + 2 * padding).rounded(.up))),
            height: min(canvas.height, Int((height + 2 * padding).rounded(.up))))

        let bitmap = Bitmap(size) { pen in
            pen.fill(
                x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 10 * scale, Theme.panel)
            var y = padding
            for row in rows {
                pen.draw(row.label, x: padding, y: y, row.value == nil ? Theme.text : Theme.muted)
                if let value = row.value { pen.draw(value, x: padding + column, y: y, Theme.text) }
                y += row.label.height + leading
            }
        }
        return Layer(
            bitmap: bitmap, x: min(Int(margin), canvas.width - size.width),
            y: min(Int(margin), canvas.height - size.height))
    }
}
