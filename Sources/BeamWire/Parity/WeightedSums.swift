import CISAL

/// Weighted sums of shards over GF(2⁸), several sums at once.
///
/// ISA-L's tables are made for one source at a time: tables for all sources are no faster, and take 4 KiB for each row
/// of a block.
struct WeightedSums {
    private typealias Place = UnsafeMutablePointer<UInt8>?

    private let places: UnsafeMutableBufferPointer<Place>
    /// The places of one group, plus the offset in `add`.
    private let targets: UnsafeMutableBufferPointer<Place>
    private let weights: UnsafeMutableBufferPointer<UInt8>
    private let tables: UnsafeMutableBufferPointer<UInt8>

    /// Places handled in one call of ISA-L, so that all memory here fits on the stack.
    private static let group = 32
    /// ISA-L's table for one weight, in bytes.
    private static let tableLength = 32

    /// Provides `count` sums, at most `ParityLayout.mostRows`, while `body` runs.
    static func with(_ count: Int, _ body: (WeightedSums) -> Void) {
        precondition(count <= ParityLayout.mostRows)
        withUnsafeTemporaryAllocation(of: Place.self, capacity: ParityLayout.mostRows + group) { pointers in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: group) { weights in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: group * tableLength) { tables in
                    pointers.initialize(repeating: nil)
                    weights.initialize(repeating: 0)
                    tables.initialize(repeating: 0)
                    body(
                        WeightedSums(
                            places: UnsafeMutableBufferPointer(rebasing: pointers[..<count]),
                            targets: UnsafeMutableBufferPointer(rebasing: pointers[ParityLayout.mostRows...]),
                            weights: weights, tables: tables))
                }
            }
        }
    }

    /// Sum `index` starts with the content of `place`.
    func put(_ index: Int, at place: UnsafeMutableRawBufferPointer) {
        places[index] = place.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    /// Sum `index` starts at zero, in `place`.
    func putZeros(_ index: Int, at place: UnsafeMutableRawBufferPointer) {
        put(index, at: place)
        place.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Adds `source` times `weight(index)` to each sum, from byte `offset` of its place on. Each place must be long
    /// enough.
    func add(_ source: UnsafeRawBufferPointer, at offset: Int = 0, weight: (Int) -> UInt8) {
        guard let base = source.baseAddress, !source.isEmpty else { return }
        // ISA-L doesn't write to its sources.
        let pointer = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
        for start in stride(from: 0, to: places.count, by: Self.group) {
            let count = min(Self.group, places.count - start)
            for index in 0..<count {
                weights[index] = weight(start + index)
                targets[index] = places[start + index].map { $0 + offset }
            }
            ec_init_tables(1, Int32(count), weights.baseAddress, tables.baseAddress)
            ec_encode_data_update(
                Int32(source.count), 1, Int32(count), 0, tables.baseAddress, pointer, targets.baseAddress)
        }
    }
}
