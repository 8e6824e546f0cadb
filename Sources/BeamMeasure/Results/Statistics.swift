/// What several repetitions of one figure amount to.
public struct Spread: Equatable, Sendable {
    public var median: Double
    public var min: Double
    public var max: Double
    public var count: Int

    /// Nil where there is no value. Values that aren't finite are left out.
    public init?(_ values: [Double]) {
        let sorted = values.filter(\.isFinite).sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        // Halves first: two large values may have a sum that is none any more.
        median = sorted.count % 2 == 1 ? sorted[middle] : sorted[middle - 1] / 2 + sorted[middle] / 2
        min = first
        max = last
        count = sorted.count
    }

    /// How many times `old` the values of `new` are: the median, least and greatest of all pairs. Repetitions of two runs
    /// belong to each other in no way, so each is set against each. Nil where either is empty, or `old` isn't above 0.
    public static func ratio(_ new: [Double], to old: [Double]) -> Spread? {
        Spread(old.filter { $0 > 0 }.flatMap { old in new.map { $0 / old } })
    }

    /// How much more `new` is than `old`, in the same way.
    public static func difference(_ new: [Double], from old: [Double]) -> Spread? {
        Spread(old.flatMap { old in new.map { $0 - old } })
    }
}
