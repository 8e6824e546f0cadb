import CoreMetrics

/// The metrics of one thing, such as a viewer: they appear with their first value, and go with it. Not to be used by two
/// threads at a time.
public final class MetricSet {
    private struct Key: Hashable {
        var family: String
        var labels: MetricLabels
    }

    private let registry: MetricsRegistry
    private let labels: [(String, String)]
    private var counters: [Key: (counter: Counter, last: UInt64)] = [:]
    private var fractionalCounters: [Key: (counter: FloatingPointCounter, last: Double)] = [:]
    private var gauges: [Key: Gauge] = [:]
    private var summaries: [Key: SummarySeries] = [:]

    /// - Parameter labels: of each of its metrics; to these come those of one metric.
    public init(_ registry: MetricsRegistry, labels: [(String, String)] = []) {
        (self.registry, self.labels) = (registry, labels)
    }

    /// A total that is kept elsewhere. One that is smaller than before has begun anew, and is added to what was counted.
    /// Nil: there is none for now.
    public func count(_ family: String, _ total: UInt64?, _ more: [(String, String)] = []) {
        guard let total else { return }
        let key = Key(family: family, labels: MetricLabels(more))
        var (counter, last) =
            counters[key] ?? (Counter(label: family, dimensions: labels + more, factory: registry), 0)
        counter.increment(by: Int64(clamping: total >= last ? total - last : total))
        last = total
        counters[key] = (counter, last)
    }

    /// The same of a total with a fraction.
    public func count(_ family: String, seconds total: Double?, _ more: [(String, String)] = []) {
        guard let total else { return }
        let key = Key(family: family, labels: MetricLabels(more))
        let (counter, last) =
            fractionalCounters[key]
            ?? (FloatingPointCounter(label: family, dimensions: labels + more, factory: registry), 0)
        counter.increment(by: total >= last ? total - last : total)
        fractionalCounters[key] = (counter, total)
    }

    /// Nil: it isn't known any more, and disappears.
    public func set(_ family: String, _ value: Double?, _ more: [(String, String)] = []) {
        let key = Key(family: family, labels: MetricLabels(more))
        guard let value else {
            gauges.removeValue(forKey: key)?.destroy()
            return
        }
        let gauge = gauges[key] ?? Gauge(label: family, dimensions: labels + more, factory: registry)
        gauges[key] = gauge
        gauge.record(value)
    }

    /// Values since the last call, summarised.
    public func add(
        _ family: String, count: UInt64, sum: Double, quantiles: [MetricQuantile], _ more: [(String, String)] = []
    ) {
        let key = Key(family: family, labels: MetricLabels(more))
        guard count > 0 || summaries[key] != nil else { return }
        let series = summaries[key] ?? registry.summary(family, labels + more)
        summaries[key] = series
        series.add(count: count, sum: sum, quantiles: quantiles)
    }

    /// It is gone, and so are its metrics.
    public func end() {
        for (counter, _) in counters.values { counter.destroy() }
        for (counter, _) in fractionalCounters.values { counter.destroy() }
        for gauge in gauges.values { gauge.destroy() }
        for series in summaries.values { registry.destroySummary(series) }
        (counters, fractionalCounters, gauges, summaries) = ([:], [:], [:], [:])
    }
}
