/// A chart of rows, one for each cell: bars, whose parts lie one behind the other, or marks.
struct Chart: Equatable, Sendable {
    struct Series: Equatable, Sendable {
        var name: String
        /// One for each row; nil: nothing there.
        var values: [Double?]
    }

    enum Style: Equatable, Sendable {
        /// Each series' values begin where those of the one before end.
        case stackedBars
        /// Each series has marks of its own, on a line from the least to the greatest; the scale is logarithmic if asked for.
        case marks(isLogarithmic: Bool)
    }

    /// Letters and digits: what its SVG's names begin with.
    var id: String
    var title: String
    /// Below the axis.
    var unit: String
    var style: Style
    var rows: [String]
    var series: [Series]
    /// From the least to the greatest of the repetitions, of the bar's whole length.
    var whiskers: [Spread?] = []
    /// What each row should reach: a short line across.
    var targets: [Double?] = []
    /// Of marks: zero is on the axis. Bars always begin there.
    var beginsAtZero = false
    /// At a bar's end, or behind the last mark.
    var decimals = 1
    /// What people are told beneath it.
    var note = ""

    /// Nothing to draw.
    var isEmpty: Bool { series.allSatisfy { $0.values.allSatisfy { $0 == nil } } }

    /// The bars' ends, or the rightmost marks.
    func end(_ row: Int) -> Double? {
        let values = series.compactMap { $0.values[row] }
        guard !values.isEmpty else { return nil }
        return style == .stackedBars ? values.reduce(0, +) : values.max()
    }
}

extension Chart {
    /// Everything that there is to draw of `results`.
    static func all(of results: [CellResults]) -> [Chart] {
        [
            stages(results), distribution(results), frames(results), bitRate(results), quality(results, .psnr),
            quality(results, .ssim), processor(results), memory(results),
        ].filter { !$0.isEmpty }
    }

    private static func stages(_ results: [CellResults]) -> Chart {
        let names = LatencyStages.sorted(Set(results.flatMap { $0.records.flatMap(\.latencyMs.keys) }))
        var series = names.map { name in Series(name: name, values: results.map { $0.stage(name) }) }
        // What no stage accounts for, where the whole is known.
        let rest = results.map { cell -> Double? in
            guard let total = cell.spread(.latency)?.median else { return nil }
            let known = names.compactMap { cell.stage($0) }.reduce(0, +)
            return total - known > 0.05 ? total - known : nil
        }
        series.append(Series(name: "between stages", values: rest))
        return Chart(
            id: "stages", title: "Latency by stage", unit: "milliseconds", style: .stackedBars,
            rows: results.map(\.cell), series: series.filter { $0.values.contains { $0 != nil } },
            whiskers: results.map { $0.spread(.latency) },
            note: "Medians of each stage, one behind the other. Medians don't add up exactly: what the whole has more "
                + "is “between stages”. The line reaches from the fastest repetition's median to the slowest's.")
    }

    private static func distribution(_ results: [CellResults]) -> Chart {
        func spread(_ value: (MeasureRecord) -> Double?) -> [Double?] {
            results.map { Spread($0.records.compactMap(value))?.median }
        }
        return Chart(
            id: "distribution", title: "Latency: median, 95th percentile, maximum", unit: "milliseconds",
            style: .marks(isLogarithmic: true), rows: results.map(\.cell),
            series: [
                Series(name: "median", values: spread { $0.totalMs?.median }),
                Series(name: "95th percentile", values: spread { $0.totalMs?.p95 }),
                Series(name: "maximum", values: spread { $0.totalMs?.max }),
            ].filter { $0.values.contains { $0 != nil } },
            note: "The scale is logarithmic.")
    }

    private static func frames(_ results: [CellResults]) -> Chart {
        Chart(
            id: "frames", title: "Delivered frames", unit: "frames a second", style: .stackedBars,
            rows: results.map(\.cell),
            series: [Series(name: "decoded", values: results.map { $0.spread(.framesPerSecond)?.median })],
            whiskers: results.map { $0.spread(.framesPerSecond) },
            targets: results.map { $0.records.compactMap(\.delivery.expectedFramesPerSecond).first },
            note: "The mark is what the source makes. What stands still is sent again, finer.")
    }

    private static func bitRate(_ results: [CellResults]) -> Chart {
        Chart(
            id: "bitrate", title: "Bit rate", unit: "Mbit a second", style: .stackedBars, rows: results.map(\.cell),
            series: [Series(name: "received", values: results.map { $0.spread(.bitRate)?.median })],
            whiskers: results.map { $0.spread(.bitRate) },
            targets: results.map { $0.records.compactMap { $0.conditions.bitRate.map { Double($0) / 1e6 } }.first },
            decimals: 2, note: "The mark is what was asked for, which only pictures that are hard to code need.")
    }

    private static func quality(_ results: [CellResults], _ figure: Figure) -> Chart {
        func values(_ part: (MeasureRecord.Quality.Figures) -> Double) -> [Double?] {
            results.map { cell in
                Spread(
                    cell.records.compactMap { $0.quality }.map { part(figure == .psnr ? $0.psnr : $0.ssim) })?.median
            }
        }
        return Chart(
            id: figure.rawValue, title: figure == .psnr ? "Picture: PSNR, luma" : "Picture: SSIM, luma",
            unit: figure == .psnr ? "dB" : "1 is equal", style: .marks(isLogarithmic: false),
            rows: results.map(\.cell),
            series: [
                Series(name: "worst picture", values: values(\.min)), Series(name: "mean", values: values(\.mean)),
            ], decimals: figure.decimals)
    }

    private static func processor(_ results: [CellResults]) -> Chart {
        func values(_ part: (MeasureRecord) -> Double?) -> [Double?] {
            results.map { Spread($0.records.compactMap(part))?.median }
        }
        return Chart(
            id: "processor", title: "Processor time", unit: "percent of one core", style: .stackedBars,
            rows: results.map(\.cell),
            series: [
                Series(name: "host", values: values { $0.host?.processorPercent }),
                Series(name: "viewer", values: values { $0.viewer.processorPercent }),
            ].filter { $0.values.contains { $0 != nil } },
            whiskers: results.map { $0.spread(.processor) },
            note: "The host's includes drawing the test pattern.")
    }

    private static func memory(_ results: [CellResults]) -> Chart {
        Chart(
            id: "memory", title: "Peak memory", unit: "MB resident", style: .marks(isLogarithmic: false),
            rows: results.map(\.cell),
            series: [
                Series(name: "host", values: results.map { $0.spread(.hostMemory)?.median }),
                Series(name: "viewer", values: results.map { $0.spread(.viewerMemory)?.median }),
            ].filter { $0.values.contains { $0 != nil } }, beginsAtZero: true, decimals: 0)
    }
}
