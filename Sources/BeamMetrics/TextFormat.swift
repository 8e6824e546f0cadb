import BeamMedia

/// Prometheus' text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
enum TextFormat {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    static func append(_ family: MetricFamily, _ series: some Sequence<any MetricSeries>, to text: inout String) {
        text += "# HELP \(family.name) \(escapedHelp(family.help))\n# TYPE \(family.name) \(family.kind.rawValue)\n"
        for sample in series.lazy.flatMap(\.samples) {
            text += family.name + sample.suffix
            if !sample.labels.isEmpty { text += "{\(sample.labels)}" }
            text += " \(sample.value)\n"
        }
    }

    /// As Go's `ParseFloat` reads it. Whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int(clamping: value)) }
        return "\(value)"
    }

    private static func escapedHelp(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}
