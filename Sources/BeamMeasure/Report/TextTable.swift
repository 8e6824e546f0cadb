public enum TextTable {
    /// One line per cell: medians over the repetitions, and the latency's range.
    public static func summary(_ records: [MeasureRecord]) -> String {
        let results = CellResults.grouped(records)
        let columns: [Figure] = [
            .latency, .latencyP95, .framesPerSecond, .lost, .bitRate, .psnr, .ssim, .processor, .hostMemory,
            .viewerMemory, .soundLatency, .soundSkew,
        ].filter { figure in results.contains { $0.spread(figure) != nil } }
        var rows = [
            [""] + columns.map { $0.unit.isEmpty ? $0.title : "\($0.title) \($0.unit)" }
        ]
        for cell in results {
            rows.append(
                [cell.cell]
                    + columns.map { figure in
                        guard let spread = cell.spread(figure) else { return "–" }
                        guard figure == .latency, spread.count > 1 else { return figure.text(spread.median) }
                        return "\(figure.text(spread.median)) (\(figure.text(spread.min))–\(figure.text(spread.max)))"
                    })
        }
        return aligned(rows)
    }

    public static func comparison(_ comparison: Comparison) -> String {
        let figures = Comparison.figures.filter { figure in
            comparison.cells.contains { $0.changes.contains { $0.figure == figure } }
        }
        var blocks: [String] = []
        for cell in comparison.cells {
            let lines = cell.changes.map { change -> [String] in
                let verdict =
                    switch change.verdict {
                    case .better: "better"
                    case .worse: "worse"
                    case .changed, .unclear: ""
                    }
                return ["  " + name(change.figure), change.text, verdict]
            }
            blocks.append("\(cell.cell)\n" + aligned(lines, isLeft: true))
        }
        let overall = figures.compactMap { figure in
            comparison.overall[figure].map { "\(name(figure)) ×\(Number.text($0, decimals: 2))" }
        }
        if comparison.cells.count > 1 { blocks.append("All together: " + overall.joined(separator: ", ")) }
        return blocks.joined(separator: "\n")
    }

    private static func name(_ figure: Figure) -> String {
        switch figure {
        case .latencyP95: "Latency, p95"
        case .hostMemory: "Memory, host"
        case .viewerMemory: "Memory, viewer"
        case .soundLatency: "Sound, latency"
        case .soundSkew: "Sound, skew"
        default: figure.title
        }
    }

    private static func aligned(_ rows: [[String]], isLeft: Bool = false) -> String {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                let blanks = String(repeating: " ", count: widths[column] - text.count)
                line += column == 0 || isLeft ? text + blanks + "  " : blanks + text + "  "
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}
