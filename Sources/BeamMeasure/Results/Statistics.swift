/// A summary of one figure's repetitions.
public struct Spread: Equatable, Sendable {
    public var median: Double
    public var min: Double
    public var max: Double
    public var count: Int

    /// Nil without values. Values that aren't finite are ignored.
    public init?(_ values: [Double]) {
        let sorted = values.filter(\.isFinite).sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        // Halve first, because the sum of two large values could overflow.
        median = sorted.count % 2 == 1 ? sorted[middle] : sorted[middle - 1] / 2 + sorted[middle] / 2
        min = first
        max = last
        count = sorted.count
    }

    /// The 95th percentile of `values` by the nearest rank: of fewer than 20 values, the largest. Nil without values; those
    /// that aren't finite are ignored.
    public static func percentile95(_ values: [Double]) -> Double? {
        let sorted = values.filter(\.isFinite).sorted()
        guard !sorted.isEmpty else { return nil }
        return sorted[(sorted.count * 95 + 99) / 100 - 1]
    }

    /// The ratios of `new` to `old`: median, minimum and maximum over all pairs, because repetitions of two runs don't
    /// correspond to each other. Values of `old` must be above 0, others are ignored. Nil if no pair is left.
    public static func ratio(_ new: [Double], to old: [Double]) -> Spread? {
        Spread(old.filter { $0 > 0 }.flatMap { old in new.map { $0 / old } })
    }

    /// The differences between `new` and `old`, over all pairs.
    public static func difference(_ new: [Double], from old: [Double]) -> Spread? {
        Spread(old.flatMap { old in new.map { $0 - old } })
    }
}
