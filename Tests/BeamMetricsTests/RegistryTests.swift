import Glibc
import Metrics
import Testing

@testable import BeamMetrics

/// What is recorded through swift-metrics comes out in Prometheus' text format.
struct RegistryTests {
    private static let families = [
        MetricFamily("a_total", .counter, "Counted."), MetricFamily("b", .gauge, "Measured \\ and\nset."),
        MetricFamily("c_seconds", .summary, "Timed."), MetricFamily("unused", .gauge, "Never."),
    ]
    private let registry = MetricsRegistry(families)

    @Test func eachTypeIsWrittenAsTheFormatSays() {
        Counter(label: "a_total", dimensions: [("x", "2")], factory: registry).increment(by: 3)
        Counter(label: "a_total", dimensions: [("x", "1")], factory: registry).increment()
        Gauge(label: "b", factory: registry).record(-0.25)
        registry.summary("c_seconds", [("stage", "encode")]).add(
            count: 4, sum: 0.5, quantiles: [MetricQuantile(0.5, 0.125), MetricQuantile(1, 0.25)])
        #expect(
            registry.text == """
                # HELP a_total Counted.
                # TYPE a_total counter
                a_total{x="1"} 1
                a_total{x="2"} 3
                # HELP b Measured \\\\ and\\nset.
                # TYPE b gauge
                b -0.25
                # HELP c_seconds Timed.
                # TYPE c_seconds summary
                c_seconds{stage="encode",quantile="0.5"} 0.125
                c_seconds{stage="encode",quantile="1"} 0.25
                c_seconds_sum{stage="encode"} 0.5
                c_seconds_count{stage="encode"} 4

                """)
    }

    @Test func otherRecordersOfTheLibraryAreTaken() {
        FloatingPointCounter(label: "spent seconds", factory: registry).increment(by: 1.5)
        Timer(label: "c_seconds", factory: registry).recordNanoseconds(2_000_000_000)
        let meter = Meter(label: "b", factory: registry)
        meter.set(Int64(5))
        meter.decrement(by: 2)
        let lines = registry.text.split(separator: "\n")
        #expect(lines.contains("spent_seconds_total 1.5"))
        #expect(lines.contains("c_seconds_sum 2") && lines.contains("c_seconds_count 1"))
        #expect(lines.contains("b 3"))
    }

    @Test(arguments: [
        ("sofa", "sofa"), ("a\"b\\c\nd", "a\\\"b\\\\c\\nd"),
        ("\r\u{0}\u{1B}[31m\u{85}", "\u{FFFD}\u{FFFD}\u{FFFD}[31m\u{FFFD}"),
        ("", ""), ("日本 🛋️", "日本 🛋️"), ("\"} 1\nx{y=\"", "\\\"} 1\\nx{y=\\\""),
    ])
    func aLabelIsEscaped(_ value: String, _ written: String) {
        Gauge(label: "b", dimensions: [("viewer", value)], factory: registry).record(1)
        #expect(registry.text.hasSuffix("b{viewer=\"\(written)\"} 1\n"))
    }

    @Test func aLabelIsCutBetweenCharactersAndItsNameIsMadeValid() {
        let labels = MetricLabels([("__na me", String(repeating: "é", count: 1000)), ("9", "x"), ("é", "y")])
        #expect(
            labels.text
                == "na_me=\"\(String(repeating: "é", count: MetricLabels.longestValue / 2))\",_9=\"x\",label=\"y\"")
        let many = MetricLabels((0..<50).map { ("l\($0)", "") })
        #expect(many.text.split(separator: ",").count == MetricLabels.most)
    }

    @Test(arguments: [
        (0.0, "0"), (-3, "-3"), (0.1, "0.1"), (1e18, "1e+18"), (.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
        (-0.0, "0"), (2.5e-7, "2.5e-07"),
    ])
    func aNumberIsWritten(_ number: Double, _ written: String) { #expect(TextFormat.number(number) == written) }

    /// A counter's type can't be taken by a gauge of its name: the parser would refuse everything.
    @Test func aNameKeepsItsType() {
        Counter(label: "a_total", factory: registry).increment()
        Gauge(label: "a_total", dimensions: [("x", "1")], factory: registry).record(-1)
        FloatingPointCounter(label: "a_total", factory: registry).increment(by: 7)
        #expect(registry.text == "# HELP a_total Counted.\n# TYPE a_total counter\na_total 1\n")
    }

    @Test func seriesAreBounded() {
        for number in 0..<MetricsRegistry.mostSeries + 100 {
            Gauge(label: "b", dimensions: [("n", "\(number)")], factory: registry).record(1)
            Gauge(label: "name \(number)", factory: registry).record(1)
        }
        #expect(registry.count == MetricsRegistry.mostSeries)
        let names = registry.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
        #expect(names.count <= MetricsRegistry.mostSeries)
    }

    // MARK: Sets

    @Test func aTotalThatBeginsAnewIsAdded() {
        let set = MetricSet(registry)
        for total in [5, 7, 7, 0, 2, UInt64.max] { set.count("a_total", total) }
        #expect(registry.text.hasSuffix("a_total \(Int64.max)\n"))
        let other = MetricSet(registry, labels: [("x", "1")])
        for total in [5, 7, 2, 3] as [UInt64] { other.count("a_total", total) }
        other.count("a_total", nil)
        #expect(registry.text.contains("a_total{x=\"1\"} 10\n"))
    }

    @Test func whatEndsLeavesNothing() {
        let set = MetricSet(registry, labels: [("viewer", "sofa")])
        set.count("a_total", 1)
        set.count("a_total", seconds: 0.5, [("kind", "part")])
        set.set("b", 1)
        set.set("b", 2, [("layer", "0")])
        set.add("c_seconds", count: 1, sum: 1, quantiles: [MetricQuantile(0.5, 1)])
        #expect(registry.count == 5)
        set.set("b", nil)
        #expect(registry.count == 4)
        set.end()
        #expect(registry.text.isEmpty && registry.count == 0)
        set.count("a_total", 9)
        #expect(registry.text.hasSuffix("a_total{viewer=\"sofa\"} 9\n"))
    }

    /// Of a second without frames nothing is known, and what was counted stays.
    @Test func aSummaryWithoutNewValuesHasNoQuantiles() {
        let set = MetricSet(registry)
        set.add("c_seconds", count: 0, sum: 0, quantiles: [])
        #expect(registry.text.isEmpty)
        set.add("c_seconds", count: 2, sum: 3, quantiles: [MetricQuantile(0.5, 1)])
        set.add("c_seconds", count: 0, sum: 0, quantiles: [])
        #expect(registry.text.hasSuffix("c_seconds{quantile=\"0.5\"} NaN\nc_seconds_sum 3\nc_seconds_count 2\n"))
    }

    @Test func theProcessTellsWhatItUses() throws {
        let registry = MetricsRegistry(ProcessFigures.families)
        ProcessFigures().record(into: MetricSet(registry))
        let values = Dictionary(
            uniqueKeysWithValues: registry.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                let words = line.split(separator: " ")
                return (String(words[0]), Double(words[1]) ?? .nan)
            })
        #expect(Set(values.keys) == Set(ProcessFigures.families.map(\.name)))
        #expect(values.values.allSatisfy { $0 > 0 })
        let memory = try #require(values["process_resident_memory_bytes"])
        #expect(memory > 1e6 && memory < 1e11)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let age = Double(now.tv_sec) - (values["process_start_time_seconds"] ?? 0)
        #expect(age > -2 && age < 86_400, "these tests began \(age) s ago")
    }
}
