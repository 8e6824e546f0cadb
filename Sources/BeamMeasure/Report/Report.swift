/// The measurement report: a self-contained HTML page.
public struct Report {
    private let results: [CellResults]
    private let records: [MeasureRecord]
    private let comparison: Comparison?
    private let failures: [MeasureRun.Failure]
    private let isCancelled: Bool

    public init(
        _ records: [MeasureRecord], comparison: Comparison?, failures: [MeasureRun.Failure], isCancelled: Bool
    ) {
        self.records = records
        results = CellResults.grouped(records)
        self.comparison = comparison
        self.failures = failures
        self.isCancelled = isCancelled
    }

    /// The page. Without gnuplot it has tables only, and says so.
    public func html(plots: Gnuplot?) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>BeamRoom: latency and picture</title>
        <style>
        \(Self.style)
        </style>
        </head>
        <body>
        <h1>BeamRoom: latency and picture</h1>
        \(facts)
        \(troubles)
        <h2>Summary</h2>
        \(summary)
        \(comparisonSection)
        \(charts(plots))
        \(stageTable)
        \(Self.soundTable(results))
        <h2>How it was measured</h2>
        \(Self.method)
        </body>
        </html>

        """
    }

    // MARK: Sections

    private var facts: String {
        guard let record = records.first else { return "<p>Nothing was measured.</p>" }
        let (machine, conditions) = (record.machine, record.conditions)
        let place = conditions.host.map { "host \($0), over the network" } ?? "host and viewer on this machine"
        let repetitions = results.map(\.records.count).max() ?? 0
        let cores = machine.cores == 1 ? "1 core" : "\(machine.cores) cores"
        let rows = [
            ("When", record.date),
            ("Machine", "\(machine.processor), \(cores), \(machine.memoryMB) MiB"),
            ("System", "\(machine.system), Linux \(machine.kernel)"),
            ("BeamRoom", machine.beamroom + (conditions.encoder.map { ", encoder \($0)" } ?? "")),
            (
                "Run",
                "\(place), \(conditions.hasWindow ? "with a window" : "without a window"), "
                    + "\(repetitions) × \(Number.text(conditions.seconds, decimals: conditions.seconds.rounded() == conditions.seconds ? 0 : 1)) s each"
            ),
        ]
        return "<dl>"
            + rows.map { "<div><dt>\($0.0)</dt><dd>\(HTML.escaped($0.1))</dd></div>" }.joined() + "</dl>"
    }

    private var troubles: String {
        var lines: [String] = []
        if isCancelled { lines.append("The measurement was interrupted. These are the results up to then.") }
        lines += failures.map { "\($0.cell) couldn't be measured. \($0.error)" }
        let disturbed = results.filter { (Spread($0.records.compactMap(\.othersPercent))?.median ?? 0) > 20 }
        if !disturbed.isEmpty {
            lines.append(
                "Other programs took more than a fifth of a core during \(disturbed.map(\.cell).joined(separator: ", ")): "
                    + "the figures are worse than on an idle machine.")
        }
        guard !lines.isEmpty else { return "" }
        return "<div class=\"trouble\">" + lines.map { "<p>\(HTML.escaped($0))</p>" }.joined() + "</div>"
    }

    private static let columns: [Figure] = [
        .latency, .latencyP95, .framesPerSecond, .lost, .bitRate, .psnr, .ssim, .processor, .hostMemory,
        .viewerMemory, .firstFrame, .soundLatency, .soundSkew,
    ]

    private var summary: String {
        let columns = Self.columns.filter { figure in results.contains { $0.spread(figure) != nil } }
        let head = columns.map { figure in
            "<th>\(figure.title)<small>\(figure.unit.isEmpty ? "&nbsp;" : figure.unit)</small></th>"
        }
        let rows = results.map { cell in
            "<tr><th scope=\"row\">\(HTML.escaped(cell.cell))</th>"
                + columns.map { "<td>\(Self.cell($0, cell))</td>" }.joined() + "</tr>"
        }
        let error = Spread(records.compactMap(\.clockErrorMs))
        let clocks =
            error.map {
                "<p>The clock offset between the two machines is known to \(Number.text($0.max, decimals: 2)) ms, and so "
                    + "are the latencies.</p>"
            } ?? ""
        return """
            <div class="scroll"><table><thead><tr><th></th>\(head.joined())</tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            <p class="note">Medians over the repetitions; below them the range. CPU is host and viewer \
            together, in percent of one core. First: from the viewer's start to its first picture. Sound: its latency; the test \
            pattern's is known 30 ms in advance. Skew: how far it is from the picture in a recording, the 95th percentile.</p>
            \(clocks)
            """
    }

    private static func cell(_ figure: Figure, _ cell: CellResults) -> String {
        guard let spread = cell.spread(figure) else { return "–" }
        let range =
            spread.count > 1 ? "<small>\(figure.text(spread.min)) – \(figure.text(spread.max))</small>" : ""
        return figure.text(spread.median) + range
    }

    private var comparisonSection: String {
        guard let comparison else { return "" }
        let figures = Comparison.figures.filter { figure in
            comparison.cells.contains { $0.changes.contains { $0.figure == figure } }
        }
        let rows = comparison.cells.map { cell in
            "<tr><th scope=\"row\">\(HTML.escaped(cell.cell))<small>\(cell.newCount) against \(cell.oldCount)</small></th>"
                + figures.map { figure in
                    guard let change = cell.changes.first(where: { $0.figure == figure }) else { return "<td>–</td>" }
                    return "<td class=\"\(change.verdict)\">\(Self.change(change))</td>"
                }.joined() + "</tr>"
        }
        let overall = figures.map { figure in
            "<td>\(comparison.overall[figure].map { "×" + Number.text($0, decimals: 2) } ?? "–")</td>"
        }
        let machines =
            comparison.isSameMachine
            ? "" : "<p class=\"trouble\">The two runs are from different machines, which the ratios reflect too.</p>"
        return """
            <h2>Against \(HTML.escaped(comparison.path))</h2>
            \(machines)
            <div class="scroll"><table><thead><tr><th></th>\(figures.map { "<th>\($0.title)</th>" }.joined())</tr></thead>
            <tbody>\(rows.joined(separator: "\n"))
            <tr class="overall"><th scope="row">All together</th>\(overall.joined())</tr></tbody></table></div>
            <p class="note">New divided by old: the median of all pairs of repetitions, below it the range; for PSNR, \
            SSIM and the sound, new minus old. ▲ better or ▼ worse is shown only if all pairs agree, with three or more repetitions on each side, and by 1 % \
            (0.1 dB, 0.0005, 1 ms of the sound) or more. All together: the geometric mean.</p>
            """
    }

    private static func change(_ change: Comparison.Change) -> String {
        let mark =
            switch change.verdict {
            case .better: "▲ "
            case .worse: "▼ "
            case .changed, .unclear: ""
            }
        let parts = change.text.split(separator: " (", maxSplits: 1)
        let range = parts.count > 1 ? "<small>\(HTML.escaped(String(parts[1].dropLast())))</small>" : ""
        return mark + HTML.escaped(String(parts[0])) + range
    }

    private func charts(_ plots: Gnuplot?) -> String {
        guard !results.isEmpty else { return "" }
        guard let plots else {
            return """
                <h2>Plots</h2>
                <p class="trouble">gnuplot, which draws the plots, isn't installed (Debian: apt-get install \
                \(Gnuplot.package)). The tables contain all results.</p>
                """
        }
        return Chart.all(of: results).map { chart in
            guard let svg = plots.draw(chart) else {
                return "<h2>\(chart.title)</h2><p class=\"trouble\">gnuplot couldn't draw this.</p>"
            }
            let note = chart.note.isEmpty ? "" : "<figcaption class=\"note\">\(chart.note)</figcaption>"
            return "<h2>\(chart.title)</h2><figure><div class=\"scroll\">\(svg)</div>\(note)</figure>"
        }.joined(separator: "\n")
    }

    /// All stages that host and viewer reported, including stretches.
    private var stageTable: String {
        let known = Set(results.flatMap { $0.records.flatMap(\.latencyMs.keys) })
        guard !known.isEmpty else { return "" }
        let names = LatencyStages.sorted(known) + known.filter(LatencyStages.isStretch).sorted()
        let rows = results.map { cell in
            "<tr><th scope=\"row\">\(HTML.escaped(cell.cell))</th>"
                + names.map { name in
                    let times = cell.records.compactMap { $0.latencyMs[name] }
                    guard let median = Spread(times.map(\.median)) else { return "<td>–</td>" }
                    let p95 = Spread(times.compactMap(\.p95))
                    let more = p95.map { "<small>p95 \(Number.text($0.median, decimals: 2))</small>" } ?? ""
                    return "<td>\(Number.text(median.median, decimals: 2))\(more)</td>"
                }.joined() + "</tr>"
        }
        return """
            <h2>Stages</h2>
            <div class="scroll"><table><thead><tr><th></th>\(names.map { "<th>\(HTML.escaped($0))<small>ms</small></th>" }.joined())\
            </tr></thead><tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            """
    }
}
