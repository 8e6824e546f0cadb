/// A histogram of durations: median, 95th percentile and maximum in bounded memory.
///
/// Buckets grow by 2 %, so percentiles are accurate to 1 %; the maximum is exact.
public struct LatencyHistogram: Sendable {
    /// In milliseconds.
    public struct Summary: Sendable, Equatable {
        public var median: Double
        public var p95: Double
        public var max: Double
        /// How many durations there were, and their sum.
        public var count = 0
        public var sum = 0.0
    }

    /// The first bucket's upper bound: 1 µs.
    private static let firstBoundNanoseconds = 1_000.0
    private static let growth = 1.02
    /// Reaches 100 s.
    private static let bucketCount = 931

    private var counts = [UInt32](repeating: 0, count: bucketCount)
    private static let bounds: [Double] = {
        var bound = firstBoundNanoseconds
        return (0..<bucketCount).map { _ in
            defer { bound *= growth }
            return bound
        }
    }()

    private var longest = Duration.zero
    private var sum = Duration.zero
    public private(set) var count = 0

    public init() {}

    public mutating func record(_ duration: Duration) {
        let nanoseconds = Double(max(0, duration.inNanoseconds))
        var low = 0
        var high = Self.bucketCount - 1
        while low < high {
            let middle = (low + high) / 2
            if Self.bounds[middle] < nanoseconds { low = middle + 1 } else { high = middle }
        }
        counts[low] += 1
        count += 1
        longest = max(longest, duration)
        sum += max(.zero, duration)
    }

    /// Nil while empty.
    public var summary: Summary? {
        guard count > 0 else { return nil }
        return Summary(
            median: percentile(0.5), p95: percentile(0.95), max: longest.inMilliseconds, count: count,
            sum: sum.inMilliseconds)
    }

    private func percentile(_ share: Double) -> Double {
        let wanted = Int(clamping: (Double(count) * share).rounded(.up))
        var seen = 0
        for (index, bucket) in counts.enumerated() {
            seen += Int(bucket)
            if seen >= wanted {
                // The bucket's geometric centre, at most the maximum.
                return min(Self.bounds[index] / Self.growth.squareRoot() / 1_000_000, longest.inMilliseconds)
            }
        }
        return longest.inMilliseconds
    }
}

/// A stage's latencies: since the last report, and in total.
public struct LatencyTrack: Sendable {
    public private(set) var total = LatencyHistogram()
    private var recent = LatencyHistogram()

    public init() {}

    public mutating func record(_ duration: Duration) {
        total.record(duration)
        recent.record(duration)
    }

    /// The durations recorded since the last call.
    public mutating func takeRecent() -> LatencyHistogram.Summary? {
        defer { recent = LatencyHistogram() }
        return recent.summary
    }
}
