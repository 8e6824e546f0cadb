import CoreMetrics
import Synchronization

/// A value of a family with certain labels: what the registry keeps, and swift-metrics records into.
protocol MetricSeries: AnyObject, Sendable {
    var key: SeriesKey { get }
    /// Its lines: what follows the family's name, the labels, and the value.
    var samples: [MetricSample] { get }
}

struct SeriesKey: Hashable, Sendable {
    let family: String
    let labels: MetricLabels
}

struct MetricSample {
    var suffix = ""
    var labels: String
    var value: String
}

final class CounterSeries: MetricSeries, CounterHandler {
    let key: SeriesKey
    private let value = Mutex<Int64>(0)

    init(_ key: SeriesKey) { self.key = key }

    /// A counter never goes back: what isn't positive is ignored.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        value.withLock { value in
            let (sum, isTooMuch) = value.addingReportingOverflow(amount)
            value = isTooMuch ? .max : sum
        }
    }

    func reset() { value.withLock { $0 = 0 } }

    var samples: [MetricSample] { [MetricSample(labels: key.labels.text, value: String(value.withLock { $0 }))] }
}

final class FractionalCounterSeries: MetricSeries, FloatingPointCounterHandler {
    let key: SeriesKey
    private let value = Mutex(0.0)

    init(_ key: SeriesKey) { self.key = key }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        value.withLock { $0 += amount }
    }

    func reset() { value.withLock { $0 = 0 } }

    var samples: [MetricSample] {
        [MetricSample(labels: key.labels.text, value: TextFormat.number(value.withLock { $0 }))]
    }
}

final class GaugeSeries: MetricSeries, RecorderHandler, MeterHandler {
    let key: SeriesKey
    private let value = Mutex(0.0)

    init(_ key: SeriesKey) { self.key = key }

    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    var samples: [MetricSample] {
        [MetricSample(labels: key.labels.text, value: TextFormat.number(value.withLock { $0 }))]
    }
}

/// How many values there were and their sum, since the beginning; and quantiles of the newest ones, where they are known.
final class SummarySeries: MetricSeries, RecorderHandler, TimerHandler {
    struct Value: Sendable {
        var count: UInt64 = 0
        var sum = 0.0
        var quantiles: [MetricQuantile] = []
    }

    let key: SeriesKey
    private let value = Mutex(Value())

    init(_ key: SeriesKey) { self.key = key }

    /// A single value, without quantiles.
    func record(_ value: Double) {
        guard value.isFinite else { return }
        add(count: 1, sum: value, quantiles: [])
    }

    func record(_ value: Int64) { record(Double(value)) }
    /// The unit of time is the second (https://prometheus.io/docs/practices/naming).
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    /// Values that were summarised elsewhere. Without any there are no quantiles: `NaN`, as Prometheus' own libraries say.
    func add(count: UInt64, sum: Double, quantiles: [MetricQuantile]) {
        value.withLock { value in
            value.count &+= count
            value.sum += sum
            value.quantiles =
                count > 0 ? quantiles : value.quantiles.map { MetricQuantile($0.share, .nan) }
        }
    }

    var samples: [MetricSample] {
        let value = value.withLock { $0 }
        return value.quantiles.map { quantile in
            MetricSample(
                labels: key.labels.adding("quantile", TextFormat.number(quantile.share)),
                value: TextFormat.number(quantile.reached))
        } + [
            MetricSample(suffix: "_sum", labels: key.labels.text, value: TextFormat.number(value.sum)),
            MetricSample(suffix: "_count", labels: key.labels.text, value: String(value.count)),
        ]
    }
}

/// A value that so large a share of all values doesn't exceed.
public struct MetricQuantile: Sendable {
    /// From 0 to 1.
    public let share: Double
    public let reached: Double

    public init(_ share: Double, _ reached: Double) { (self.share, self.reached) = (share, reached) }
}
