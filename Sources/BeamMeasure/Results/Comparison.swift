import Glibc

/// A comparison of two runs, cell by cell.
public struct Comparison: Equatable, Sendable {
    /// One figure, new against old.
    public struct Change: Equatable, Sendable {
        public var figure: Figure
        /// A ratio, or a difference if `figure.isComparedByDifference`.
        public var spread: Spread

        public var newCount: Int
        public var oldCount: Int

        public enum Verdict: Equatable, Sendable { case better, worse, changed, unclear }

        /// With fewer repetitions, a separation by chance is more frequent than in one of ten pairs of runs.
        static let repetitionsNeeded = 3

        /// Clear if the repetitions of the two runs don't overlap and the difference is large enough to matter.
        public var verdict: Verdict {
            let neutral = figure.isComparedByDifference ? 0.0 : 1
            guard spread.min > neutral || spread.max < neutral, abs(spread.median - neutral) >= minChange,
                min(newCount, oldCount) >= Self.repetitionsNeeded
            else { return .unclear }
            guard let lessIsBetter = figure.lessIsBetter else { return .changed }
            return (spread.max < neutral) == lessIsBetter ? .better : .worse
        }

        private var minChange: Double {
            switch figure {
            case .ssim: 0.0005
            case .psnr: 0.1
            // Times in a recording are rounded to 1 ms.
            case .soundLatency, .soundSkew: 1
            default: 0.01
            }
        }

        /// `×0.82 (0.79 – 0.85)` or `+1.3 dB (1.1 – 1.4)`.
        public var text: String {
            func part(_ value: Double) -> String {
                let decimals = figure == .ssim ? 4 : 2
                let sign = figure.isComparedByDifference && value > 0 ? "+" : ""
                return sign + Number.text(value, decimals: decimals)
            }
            let head = figure.isComparedByDifference ? "" : "×"
            let unit = figure.isComparedByDifference && !figure.unit.isEmpty ? " " + figure.unit : ""
            return "\(head)\(part(spread.median))\(unit) (\(part(spread.min)) – \(part(spread.max)))"
        }
    }

    public struct Cell: Equatable, Sendable {
        public var cell: String
        public var newCount: Int
        public var oldCount: Int
        public var changes: [Change]
    }

    static let figures: [Figure] = [
        .latency, .latencyP95, .framesPerSecond, .bitRate, .psnr, .ssim, .processor, .hostMemory, .viewerMemory,
        .soundLatency, .soundSkew,
    ]

    /// The path of the old results.
    public var path: String
    public var cells: [Cell]
    /// The geometric mean of the ratios' medians over all cells.
    public var overall: [Figure: Double]
    /// False: the ratios also reflect the difference between the machines.
    public var isSameMachine: Bool

    /// - Throws: `nothingInCommon`.
    public init(_ new: [MeasureRecord], to old: [MeasureRecord], path: String) throws(MeasureError) {
        let ours = CellResults.grouped(new)
        let theirs = Dictionary(
            CellResults.grouped(old).map { ($0.cell, $0.records) }, uniquingKeysWith: { first, _ in first })
        let cells = ours.compactMap { cell in
            theirs[cell.cell].map { Self.cell(cell, old: $0) }
        }
        guard !cells.isEmpty else {
            throw .nothingInCommon(
                path: path, theirs: CellResults.grouped(old).map(\.cell), ours: ours.map(\.cell))
        }
        self.path = path
        self.cells = cells
        var overall: [Figure: Double] = [:]
        for figure in Self.figures where !figure.isComparedByDifference {
            let logarithms = cells.compactMap { cell in
                cell.changes.first { $0.figure == figure && $0.spread.median > 0 }.map { log($0.spread.median) }
            }
            guard !logarithms.isEmpty else { continue }
            overall[figure] = exp(logarithms.reduce(0, +) / Double(logarithms.count))
        }
        self.overall = overall
        let machines = Set((new + old).map { "\($0.machine.processor) \($0.machine.cores)" })
        isSameMachine = machines.count == 1
    }

    private static func cell(_ new: CellResults, old: [MeasureRecord]) -> Cell {
        let changes = figures.compactMap { figure -> Change? in
            let (ours, theirs) = (figure.values(in: new.records), figure.values(in: old))
            let spread =
                figure.isComparedByDifference
                ? Spread.difference(ours, from: theirs) : Spread.ratio(ours, to: theirs)
            return spread.map {
                Change(figure: figure, spread: $0, newCount: ours.count, oldCount: theirs.count)
            }
        }
        return Cell(cell: new.cell, newCount: new.records.count, oldCount: old.count, changes: changes)
    }
}
