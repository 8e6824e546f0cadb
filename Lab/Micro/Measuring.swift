import Benchmark
import CAllocations

extension BenchmarkState {
    /// Times `body`, and counts the allocations of the whole process meanwhile. `body` returns the number of datagrams
    /// it handled.
    mutating func measureAllocating(_ body: () throws -> Int) throws {
        let before = beam_allocations()
        start()
        let datagrams = try body()
        let after = beam_allocations()
        try end()
        increment(counter: "datagrams", by: Double(datagrams))
        increment(counter: "allocations", by: Double(after - before))
    }
}

extension BenchmarkColumn {
    /// Columns beside the times: datagrams, the lengths of what was made, and allocations, each as the mean of an iteration.
    static func registerAllocations() {
        for name in ["datagrams", "bytes", "allocations"] {
            register(
                BenchmarkColumn(
                    name: name,
                    value: { ($0.counters[name] ?? 0) / Double(max(1, $0.measurements.count)) }))
        }
    }
}

/// Why a benchmark can't run.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
