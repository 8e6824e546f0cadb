import Foundation
import Testing

@testable import BeamMeasure

/// The page escapes all external text, and is self-contained.
struct ReportTests {
    @Test func markupInTextStaysText() {
        #expect(HTML.escaped("<b a='1' c=\"2\">&amp;") == "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;")
        #expect(HTML.escaped("a\u{0}b\u{1B}[31m\u{7F}é📱\n") == "ab[31mé📱\n")
    }

    private static let hostile = "<script>alert('x')</script>`id`\"'$(id)"

    @Test func hostileNamesAreEscaped() throws {
        var record = MeasureRecord.sample(Self.hostile)
        record.machine.processor = Self.hostile
        record.conditions.encoder = Self.hostile
        record.latencyMs[Self.hostile] = .init(median: 1, p95: 2, max: 3)
        let failures = [MeasureRun.Failure(cell: Self.hostile, error: .file(path: Self.hostile, reason: "no"))]
        let comparison = try Comparison([record], to: [record], path: Self.hostile)
        let page = Report([record], comparison: comparison, failures: failures, isCancelled: true)
            .html(plots: Gnuplot())
        #expect(!page.contains("<script"))
        #expect(page.contains("&lt;script&gt;"))
    }

    @Test func hostileNamesAreQuotedForGnuplot() {
        #expect(PlotScript.quoted("it's `id`\\\"\n\u{1B}é") == "'it s  id     é'")
        #expect(PlotScript.quoted(String(repeating: "x", count: 500)).count == 142)
    }

    @Test func withoutGnuplotThePageHasTablesAndNamesThePackage() {
        let page = Report([.sample()], comparison: nil, failures: [], isCancelled: false).html(plots: nil)
        #expect(page.contains("gnuplot-nox") && page.contains("1280x720@60 scroll 10M") && page.contains("44.2"))
        #expect(Gnuplot(searchPath: "/nonexistent") == nil)
    }

    @Test func aRunWithoutResultsGivesAPage() {
        let page = Report([], comparison: nil, failures: [], isCancelled: true).html(plots: Gnuplot())
        #expect(page.contains("Nothing was measured") && page.contains("interrupted"))
    }

    @Test(.enabled(if: Gnuplot() != nil, "gnuplot isn't installed (package gnuplot-nox)"))
    func everyChartIsEmbedded() throws {
        let gnuplot = try #require(Gnuplot())
        let records = (1...3).flatMap { repetition in
            ["a", "b c", "é×"].map { MeasureRecord.sample($0, repetition: repetition, latency: 5 + Double(repetition)) }
        }
        let charts = Chart.all(of: CellResults.grouped(records))
        #expect(charts.count == 10)
        for chart in charts {
            let svg = try #require(gnuplot.draw(chart), "\(chart.id)")
            #expect(svg.hasPrefix("<svg") && svg.hasSuffix("</svg>"))
            #expect(svg.contains("currentColor") && !svg.contains("rgb(  1,") && !svg.contains("rgb(1,"))
            #expect(svg.contains("b c") && svg.contains("é×"))
        }
        let page = Report(records, comparison: nil, failures: [], isCancelled: false).html(plots: gnuplot)
        let names = page.matches(of: /id=['"]([^'"]*)['"]/).map(\.output.1)
        #expect(Set(names).count == names.count, "ids must be unique")
        // The page must not load anything.
        for remote in ["src=", "url(http", "href='http", "href=\"http", "@import", "<link"] {
            #expect(!page.contains(remote), "\(remote)")
        }
    }

    @Test func chartsWithoutDataAreLeftOut() {
        var record = MeasureRecord.sample()
        record.quality = nil
        record.host = nil
        record.sound = nil
        let charts = Chart.all(of: CellResults.grouped([record]))
        #expect(Set(charts.map(\.id)).isDisjoint(with: ["psnr", "sound", "skew"]))
        #expect(charts.first { $0.id == "memory" }?.series.map(\.name) == ["viewer"])
        let page = Report([record], comparison: nil, failures: [], isCancelled: false).html(plots: nil)
        #expect(!page.contains("<th>PSNR") && !page.contains("<h2>Sound</h2>") && !page.contains("<th>Skew"))
    }

    @Test func stagesAreStackedAndTheRestIsShown() throws {
        let chart = try #require(Chart.all(of: CellResults.grouped([.sample()])).first)
        #expect(chart.series.map(\.name) == ["capture", "encode", "decode", "between stages"])
        #expect(abs((chart.end(0) ?? 0) - 8) < 1e-9)
    }

    @Test func theSoundHasATable() throws {
        let page = Report([.sample(), .sample(repetition: 2)], comparison: nil, failures: [], isCancelled: false)
            .html(plots: nil)
        let table = try #require(page.split(separator: "<h2>Sound</h2>").dropFirst().first)
        #expect(table.contains("21.5") && table.contains("0.10") && table.contains("-0.4"))
        #expect(table.contains("10 of 10"))
        // Without a window there is no such figure.
        #expect(!table.contains("To the window"))
    }

    @Test func theTextTableIsAligned() {
        let lines = TextTable.summary([.sample("a"), .sample("longer name", latency: 120)]).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(Set(lines.map(\.count)).count == 1, "\(lines)")
    }
}
