/// A chart with one row per cell, drawn as stacked bars or as marks.
struct Chart: Equatable, Sendable {
    struct Series: Equatable, Sendable {
        var name: String
        /// One per row; nil if there is no value.
        var values: [Double?]
    }

    enum Style: Equatable, Sendable {
        /// Each series starts where the one before it ends.
        case stackedBars
        /// A mark per series on a line from minimum to maximum; the scale may be logarithmic.
        case marks(isLogarithmic: Bool)
    }

    /// Letters and digits: the prefix of ids in its SVG.
    var id: String
    var title: String
    /// Shown below the axis.
    var unit: String
    var style: Style
    var rows: [String]
    var series: [Series]
    /// The range of the repetitions, for the bar's whole length.
    var whiskers: [Spread?] = []
    /// The expected value of each row, drawn as a short line across.
    var targets: [Double?] = []
    /// For marks: the axis starts at zero. Bars always do.
    var beginsAtZero = false
    /// Decimals of the value shown beside the bar's end or the last mark.
    var decimals = 1
    /// Text shown below the chart.
    var note = ""

    var isEmpty: Bool { series.allSatisfy { $0.values.allSatisfy { $0 == nil } } }

    /// The end of a row's bar, or its rightmost mark.
    func end(_ row: Int) -> Double? {
        let values = series.compactMap { $0.values[row] }
        guard !values.isEmpty else { return nil }
        return style == .stackedBars ? values.reduce(0, +) : values.max()
    }
}

extension Chart {
    /// All charts of `results` that have data.
    static func all(of results: [CellResults]) -> [Chart] {
        [
            stages(results), distribution(results), frames(results), bitRate(results), quality(results, .psnr),
            quality(results, .ssim), soundLatency(results), soundSkew(results), processor(results), memory(results),
        ].filter { !$0.isEmpty }
    }

    private static func stages(_ results: [CellResults]) -> Chart {
        let names = LatencyStages.sorted(Set(results.flatMap { $0.records.flatMap(\.latencyMs.keys) }))
        var series = names.map { name in Series(name: name, values: results.map { $0.stage(name) }) }
        // The difference between the total latency and the known stages.
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
            note: "The median of each stage. Medians don't add up exactly to the median of the total: the difference "
                + "is “between stages”. The line shows the range of the repetitions' medians.")
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
            note: "The mark is the source's rate. Still content is sent again in higher quality.")
    }

    private static func bitRate(_ results: [CellResults]) -> Chart {
        Chart(
            id: "bitrate", title: "Bit rate", unit: "Mbit a second", style: .stackedBars, rows: results.map(\.cell),
            series: [Series(name: "received", values: results.map { $0.spread(.bitRate)?.median })],
            whiskers: results.map { $0.spread(.bitRate) },
            targets: results.map { $0.records.compactMap { $0.conditions.bitRate.map { Double($0) / 1e6 } }.first },
            decimals: 2, note: "The mark is the requested bit rate. Only content that is hard to code needs all of it.")
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
            unit: figure == .psnr ? "dB" : "1 means identical", style: .marks(isLogarithmic: false),
            rows: results.map(\.cell),
            series: [
                Series(name: "worst picture", values: values(\.min)), Series(name: "mean", values: values(\.mean)),
            ], decimals: figure.decimals)
    }

    private static func soundLatency(_ results: [CellResults]) -> Chart {
        func values(_ part: (MeasureRecord.Times) -> Double?) -> [Double?] {
            results.map { Spread($0.records.compactMap { $0.sound?.latencyMs.flatMap(part) })?.median }
        }
        return Chart(
            id: "sound", title: "Sound: latency", unit: "milliseconds", style: .marks(isLogarithmic: false),
            rows: results.map(\.cell),
            series: [
                Series(name: "median", values: values { $0.median }),
                Series(name: "95th percentile", values: values { $0.p95 }),
            ], note: "Of the seconds' values. The test pattern's sound is known 30 ms in advance.")
    }

    private static func soundSkew(_ results: [CellResults]) -> Chart {
        func values(_ part: (MeasureRecord.Sound.Recorded) -> Double?) -> [Double?] {
            results.map { Spread($0.records.compactMap { $0.sound?.recorded.flatMap(part) })?.median }
        }
        return Chart(
            id: "skew", title: "Sound: step with the picture, recorded", unit: "milliseconds",
            style: .marks(isLogarithmic: false), rows: results.map(\.cell),
            series: [
                Series(name: "median", values: values(\.medianSkewMs)),
                Series(name: "95th percentile", values: values(\.p95SkewMs)),
                Series(name: "largest", values: values(\.maxSkewMs)),
            ], note: "The median is positive if the sound is late; the others are magnitudes.")
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
