import CoreMetrics
import Synchronization

/// The metrics of this program: swift-metrics records into it, and it writes them in Prometheus' format.
///
/// Whatever is recorded, its size is bounded: by the number of series, and by the length of a label.
public final class MetricsRegistry: Sendable {
    /// Series at most. What is made beyond is recorded by nobody: a host with the most viewers that it tells of has 3,600.
    static let mostSeries = 8192

    private struct Family {
        let description: MetricFamily
        var series: [MetricLabels: any MetricSeries] = [:]
    }

    private struct State {
        /// In the order in which they are written.
        var families: [Family] = []
        var indices: [String: Int] = [:]
        var count = 0
    }

    private let state: Mutex<State>

    /// - Parameter families: those that are described; a metric of another name is taken, too.
    public init(_ families: [MetricFamily]) {
        var state = State()
        for family in families { _ = Self.index(of: family, &state) }
        self.state = Mutex(state)
    }

    /// Everything in Prometheus' text format. A family without a series is left out.
    public var text: String {
        let families = state.withLock { $0.families }
        var text = ""
        for family in families where !family.series.isEmpty {
            let sorted = family.series.sorted { $0.key.text < $1.key.text }
            TextFormat.append(family.description, sorted.map(\.value), to: &text)
        }
        return text
    }

    /// So many series there are.
    var count: Int { state.withLock { $0.count } }

    private static func index(of family: MetricFamily, _ state: inout State) -> Int {
        if let index = state.indices[family.name] { return index }
        state.families.append(Family(description: family))
        state.indices[family.name] = state.families.count - 1
        return state.families.count - 1
    }

    /// The series of that family and those labels: the one that there is, or a new one. One that can't be kept, because
    /// there are too many or the name is of another type, isn't written.
    private func series<Series: MetricSeries>(
        _ label: String, _ kind: MetricFamily.Kind, _ dimensions: [(String, String)], make: (SeriesKey) -> Series
    ) -> Series {
        let labels = MetricLabels(dimensions)
        return state.withLock { state in
            let family =
                state.indices[label].map { state.families[$0].description } ?? MetricFamily(undescribed: label, kind)
            let key = SeriesKey(family: family.name, labels: labels)
            guard state.count < Self.mostSeries || state.indices[family.name] != nil else { return make(key) }
            let index = Self.index(of: family, &state)
            if let known = state.families[index].series[labels] { return known as? Series ?? make(key) }
            guard family.kind == kind, state.families[index].description.kind == kind, state.count < Self.mostSeries
            else { return make(key) }
            let series = make(key)
            state.families[index].series[labels] = series
            state.count += 1
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        guard let series = handler as? any MetricSeries else { return }
        state.withLock { state in
            guard let index = state.indices[series.key.family],
                state.families[index].series[series.key.labels] === series
            else { return }
            state.families[index].series[series.key.labels] = nil
            state.count -= 1
        }
    }

    /// A summary whose values are summarised elsewhere.
    func summary(_ label: String, _ dimensions: [(String, String)]) -> SummarySeries {
        series(label, .summary, dimensions, make: SummarySeries.init)
    }

    func destroySummary(_ series: SummarySeries) { remove(series) }
}

extension MetricsRegistry: MetricsFactory {
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, .counter, dimensions, make: CounterSeries.init)
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, .counter, dimensions, make: FractionalCounterSeries.init)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, .gauge, dimensions, make: GaugeSeries.init)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate
            ? series(label, .summary, dimensions, make: SummarySeries.init)
            : series(label, .gauge, dimensions, make: GaugeSeries.init)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, .summary, dimensions, make: SummarySeries.init)
    }

    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
