import Testing

@testable import BeamMeasure

/// Spreads of several figures, and comparing two runs.
struct StatisticsTests {
    @Test func theMedianIsTheMiddleValue() {
        #expect(Spread([3, 1, 2]) == Spread([1, 2, 3]))
        #expect(Spread([3, 1, 2])?.median == 2)
        #expect(Spread([4, 1, 2, 3])?.median == 2.5)
        #expect(Spread([7])?.min == 7 && Spread([7])?.max == 7 && Spread([7])?.count == 1)
        #expect(Spread([1e308, 1.2e308])?.median == 1.1e308)
    }

    @Test func the95thPercentileIsANearestRank() {
        #expect(Spread.percentile95([]) == nil && Spread.percentile95([.nan]) == nil)
        #expect(Spread.percentile95([7]) == 7 && Spread.percentile95([3, 9, .infinity, 1]) == 9)
        #expect(Spread.percentile95((1...20).map(Double.init)) == 19)
        #expect(Spread.percentile95((1...100).reversed().map(Double.init)) == 95)
    }

    @Test func nonFiniteValuesAreIgnored() {
        #expect(Spread([]) == nil)
        #expect(Spread([.nan, .infinity]) == nil)
        #expect(Spread([.nan, 5, -.infinity])?.median == 5)
    }

    @Test func ratiosUseAllPairs() throws {
        let ratio = try #require(Spread.ratio([4, 6], to: [2, 4]))
        #expect((ratio.min, ratio.max, ratio.count) == (1, 3, 4))
        #expect(ratio.median == 1.75)
        #expect(Spread.ratio([1], to: [0, -3]) == nil)
        #expect(Spread.ratio([], to: [1]) == nil)
        let difference = try #require(Spread.difference([4, 6], from: [2, 4]))
        #expect((difference.min, difference.median, difference.max) == (0, 2, 4))
    }

    @Test func numbersReadAsPeopleWriteThem() {
        #expect(Number.text(12.345, decimals: 1) == "12.3")
        #expect(Number.text(-0.04, decimals: 1) == "0.0")
        #expect(Number.text(-1.25, decimals: 1) == "-1.3")
        #expect(Number.text(0.9996, decimals: 4) == "0.9996")
        #expect(Number.text(3, decimals: 0) == "3")
        #expect(Number.text(.infinity, decimals: 1) == "–" && Number.text(.nan, decimals: 1) == "–")
    }

    private func run(_ latencies: [Double], cell: String = "a") -> [MeasureRecord] {
        latencies.enumerated().map { .sample(cell, repetition: $0 + 1, latency: $1) }
    }

    @Test func aClearChangeIsReported() throws {
        let comparison = try Comparison(run([5, 5.1, 5.2]), to: run([8, 8.2, 8.4]), path: "old")
        let change = try #require(comparison.cells.first?.changes.first { $0.figure == .latency })
        #expect(change.verdict == .better)
        #expect(change.text.hasPrefix("×0.62 (0.60 – 0.65)"))
        let back = try Comparison(run([8, 8.2, 8.4]), to: run([5, 5.1, 5.2]), path: "old")
        #expect(back.cells.first?.changes.first { $0.figure == .latency }?.verdict == .worse)
        // All other figures are equal.
        #expect(comparison.cells[0].changes.filter { $0.verdict != .unclear }.map(\.figure) == [.latency])
    }

    /// Near zero a ratio says nothing.
    @Test func soundIsComparedByDifference() throws {
        func run(_ latency: Double, skew: Double) -> [MeasureRecord] {
            (1...3).map { repetition in
                var record = MeasureRecord.sample(repetition: repetition)
                record.sound?.latencyMs?.median = latency
                record.sound?.recorded?.p95SkewMs = skew
                return record
            }
        }
        let comparison = try Comparison(run(-3, skew: 0), to: run(9.5, skew: 0.4), path: "old")
        let changes = comparison.cells[0].changes
        let latency = try #require(changes.first { $0.figure == .soundLatency })
        #expect(latency.verdict == .better && latency.text == "-12.50 ms (-12.50 – -12.50)")
        let skew = try #require(changes.first { $0.figure == .soundSkew })
        #expect(skew.verdict == .unclear && skew.spread.median == -0.4)
        #expect(comparison.overall[.soundLatency] == nil)
    }

    @Test(arguments: [
        // Overlapping; too few; hardly different.
        ([5.0, 6, 7], [6.0, 7, 8]), ([5, 5.1], [8, 8.2]), ([8, 8.001, 8.002], [8.01, 8.011, 8.012]),
    ])
    func anUnclearChangeIsNotReported(new: [Double], old: [Double]) throws {
        let comparison = try Comparison(run(new), to: run(old), path: "old")
        #expect(comparison.cells.first?.changes.first { $0.figure == .latency }?.verdict == .unclear)
    }

    @Test func allTogetherIsTheGeometricMean() throws {
        let comparison = try Comparison(
            run([2], cell: "a") + run([8], cell: "b"), to: run([4], cell: "a") + run([4], cell: "b"), path: "old")
        #expect(abs((comparison.overall[.latency] ?? 0) - 1) < 1e-12)
    }

    @Test func onlyCommonCellsAreCompared() throws {
        let comparison = try Comparison(
            run([2], cell: "a") + run([2], cell: "b"), to: run([2], cell: "b") + run([2], cell: "c"), path: "old")
        #expect(comparison.cells.map(\.cell) == ["b"])
        let error = try #require(throws: MeasureError.self) {
            try Comparison(run([2], cell: "a"), to: run([2], cell: "c"), path: "old.jsonl")
        }
        #expect(error.description.contains("old.jsonl") && error.description.contains("holds c"))
    }

    @Test func theTotalIsTheLongestKnownStretch() {
        func times(_ median: Double) -> MeasureRecord.Times { .init(median: median, p95: 2 * median, max: 9) }
        let all = [
            "captureToArrival": times(6), "decode": times(1), "captureToPicture": times(7), "captureToWindow": times(8),
        ]
        #expect(LatencyStages.total(all)?.from == "captureToWindow")
        #expect(LatencyStages.total(all.filter { $0.key != "captureToWindow" })?.median == 7)
        let sum = LatencyStages.total(["captureToArrival": times(6), "decode": times(1)])
        #expect(sum?.median == 7 && sum?.p95 == 14 && sum?.max == nil)
        #expect(LatencyStages.total(["decode": times(1)]) == nil)
        #expect(
            LatencyStages.sorted(["decode", "captureToArrival", "zebra", "capture", "network", "apple"])
                == ["capture", "network", "decode", "apple", "zebra"])
    }
}
