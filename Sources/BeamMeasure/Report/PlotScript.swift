/// A chart as a gnuplot script.
struct PlotScript {
    /// Placeholders for the text's and the grid's colour, which `InlineSVG` replaces. Nothing else uses them.
    static let ink = "#010203"
    static let grid = "#010204"

    /// Based on the palette of Okabe and Ito, which is distinguishable with colour blindness; colours that contrast
    /// with both white and black come first. Repeats for more series.
    static let colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c8c", "#b8a900"]
    /// gnuplot's point types: disc, square, triangle, diamond.
    private static let forms = [7, 5, 9, 13]

    private static let rowHeight = 30
    private static let width = 860

    private let chart: Chart

    init(_ chart: Chart) { self.chart = chart }

    var text: String {
        let keyRows = self.keyRows
        let height = 80 + 20 * keyRows + Self.rowHeight * chart.rows.count
        var lines = [
            "set terminal svg size \(Self.width),\(height) dynamic font 'sans-serif,13' noenhanced",
            "set encoding utf8",
            "set border 1 lc rgb '\(Self.ink)'",
            "set tics textcolor rgb '\(Self.ink)' nomirror",
            "set grid xtics lt 1 lc rgb '\(Self.grid)' lw 1",
            "set yrange [\(Double(chart.rows.count) - 0.4):-0.6]",
            "set ytics scale 0 (\(labels))",
            "set lmargin \(labelWidth)",
            "set rmargin 9",
            "set tmargin \(0.7 + 1.4 * Double(keyRows))",
            "set bmargin 3.2",
            keyRows > 0
                ? "set key above left Left reverse horizontal textcolor rgb '\(Self.ink)' samplen 1.5" : "unset key",
            "set xlabel \(Self.quoted(chart.unit)) textcolor rgb '\(Self.ink)'",
            "set style fill solid 1 noborder",
        ]
        let (blocks, plots) = chart.style == .stackedBars ? bars : marks
        lines += blocks
        lines.append("plot \(plots.joined(separator: ", \\\n    "))")
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Parts

    private var labels: String {
        chart.rows.enumerated().map { "\(Self.quoted($1)) \($0)" }.joined(separator: ", ")
    }

    /// The number of lines that the key takes above the plot, estimated from the letters' approximate width.
    private var keyRows: Int {
        guard chart.series.count > 1 else { return 0 }
        let letter = 8
        let longest = chart.series.map(\.name.count).max() ?? 0
        let columns = max(1, (Self.width - (labelWidth + 9) * letter) / ((longest + 6) * letter))
        return (chart.series.count + columns - 1) / columns
    }

    private var labelWidth: Int { min(60, 3 + (chart.rows.map(\.count).max() ?? 0)) }

    /// In single quotes, where gnuplot executes nothing. Unsafe characters become blanks.
    static func quoted(_ text: String) -> String {
        let kept = text.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "'", "\\", "`", "\"", "\n", "\r": " "
            case _ where scalar.value < 32 || scalar.value == 127: " "
            default: Character(scalar)
            }
        }
        return "'" + String(kept.prefix(140)) + "'"
    }

    private static func block(_ name: String, _ rows: [[Double]]) -> [String] {
        ["$\(name) << EOD"] + rows.map { $0.map { "\($0)" }.joined(separator: " ") } + ["EOD"]
    }

    private func colour(_ index: Int) -> String { Self.colours[index % Self.colours.count] }

    /// The value beside each row's end; `places` are their positions on the axis.
    private func valueLabels(_ places: [Double?], _ plots: inout [String], _ blocks: inout [String]) {
        let rows = chart.rows.indices.compactMap { row -> String? in
            guard let value = chart.end(row), let place = places[row] else { return nil }
            return "\(place) \(row) \(Number.text(value, decimals: chart.decimals))"
        }
        guard !rows.isEmpty else { return }
        blocks += ["$labels << EOD"] + rows + ["EOD"]
        plots.append(
            "$labels using 1:2:3 with labels left offset 1.2,0 font ',12' textcolor rgb '\(Self.ink)' notitle")
    }

    private var bars: (blocks: [String], plots: [String]) {
        var (blocks, plots): ([String], [String]) = ([], [])
        var ends = chart.rows.map { _ in 0.0 }
        for (index, series) in chart.series.enumerated() {
            var rows: [[Double]] = []
            for (row, value) in series.values.enumerated() {
                guard let value, value.isFinite else { continue }
                let (place, next) = (Double(row), ends[row] + max(0, value))
                rows.append([ends[row], place, ends[row], next, place - 0.32, place + 0.32])
                ends[row] = next
            }
            guard !rows.isEmpty else { continue }
            blocks += Self.block("bar\(index)", rows)
            plots.append(
                "$bar\(index) using 1:2:3:4:5:6 with boxxyerror lc rgb '\(colour(index))' "
                    + "title \(Self.quoted(series.name))")
        }
        let whiskers = chart.whiskers.enumerated().compactMap { row, spread in
            spread.flatMap { $0.max > $0.min ? [$0.median, Double(row), $0.min, $0.max] : nil }
        }
        if !whiskers.isEmpty {
            blocks += Self.block("whiskers", whiskers)
            plots.append("$whiskers using 1:2:3:4 with xerrorbars pt 0 lw 1.5 lc rgb '\(Self.ink)' notitle")
        }
        let targets = chart.targets.enumerated().compactMap { row, target in
            target.map { [$0, Double(row) - 0.42, 0, 0.84] }
        }
        if !targets.isEmpty {
            blocks += Self.block("targets", targets)
            plots.append("$targets using 1:2:3:4 with vectors nohead lw 2 lc rgb '\(Self.ink)' notitle")
        }
        let widest = (ends + targets.map { $0[0] }).max() ?? 0
        let places = chart.rows.indices.map { row -> Double? in
            guard let end = chart.end(row) else { return nil }
            let whisker = chart.whiskers.indices.contains(row) ? chart.whiskers[row]?.max : nil
            let target = chart.targets.indices.contains(row) ? chart.targets[row] : nil
            let place = max(end, whisker ?? end)
            // A target mark close to the bar's end would cross the digits, so put them behind it.
            return target.map { $0 > place && $0 < place + widest / 8 ? $0 : place } ?? place
        }
        valueLabels(places, &plots, &blocks)
        return (["set xrange [0:*]", "set errorbars small"] + blocks, plots)
    }

    private var marks: (blocks: [String], plots: [String]) {
        var (blocks, plots): ([String], [String]) = ([], [])
        var settings = chart.beginsAtZero ? ["set xrange [0:*]"] : ["set offsets graph 0.02, graph 0.02, 0, 0"]
        if chart.style == .marks(isLogarithmic: true) { settings = ["set logscale x", "set xrange [*:*]"] }
        let lines = chart.rows.indices.compactMap { row -> [Double]? in
            guard let span = Spread(chart.series.compactMap { $0.values[row] }), span.max > span.min else { return nil }
            return [span.min, Double(row), span.max - span.min, 0]
        }
        if !lines.isEmpty {
            blocks += Self.block("lines", lines)
            plots.append("$lines using 1:2:3:4 with vectors nohead lw 3 lc rgb '#8c8c8c' notitle")
        }
        for (index, series) in chart.series.enumerated() {
            let rows = series.values.enumerated().compactMap { row, value in value.map { [$0, Double(row)] } }
            guard !rows.isEmpty else { continue }
            blocks += Self.block("mark\(index)", rows)
            plots.append(
                "$mark\(index) using 1:2 with points pt \(Self.forms[index % Self.forms.count]) ps 1.1 "
                    + "lc rgb '\(colour(index))' title \(Self.quoted(series.name))")
        }
        valueLabels(chart.rows.indices.map { chart.end($0) }, &plots, &blocks)
        return (settings + blocks, plots)
    }
}
