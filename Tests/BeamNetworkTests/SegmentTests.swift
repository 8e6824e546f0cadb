import Testing

@testable import BeamNetwork

/// What the system has put together is taken apart again.
struct SegmentTests {
    private func split(_ count: Int, size: Int) -> [[UInt8]] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var segments: [[UInt8]] = []
        bytes.withUnsafeBytes { bytes in Segments.forEach(in: bytes, size: size) { segments.append(Array($0)) } }
        #expect(segments.flatMap { $0 } == bytes, "nothing is lost, or said twice")
        return segments
    }

    @Test func theLastOneMayBeShorter() {
        #expect(split(3600, size: 1200).map(\.count) == [1200, 1200, 1200])
        #expect(split(3601, size: 1200).map(\.count) == [1200, 1200, 1200, 1])
        #expect(split(65_507, size: 1200).map(\.count) == [Int](repeating: 1200, count: 54) + [707])
        #expect(split(5, size: 1).count == 5)
    }

    /// One datagram by itself comes without a size, and one that fills its segment is one too.
    @Test(arguments: [(1200, 0), (1200, 1200), (1200, 1201), (1200, 65_535), (1200, -1), (1, 0), (0, 0), (0, 1200)])
    func withoutASizeItIsOne(count: Int, size: Int) {
        #expect(split(count, size: size).map(\.count) == [count])
    }
}
