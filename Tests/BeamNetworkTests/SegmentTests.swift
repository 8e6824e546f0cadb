import BeamSockets
import Testing

@testable import BeamNetwork

/// Splits a buffer that the kernel coalesced (UDP_GRO) into its datagrams.
struct SegmentTests {
    private func split(_ count: Int, size: Int) -> [[UInt8]] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var segments: [[UInt8]] = []
        bytes.withUnsafeBytes { bytes in Segments.forEach(in: bytes, size: size) { segments.append(Array($0)) } }
        #expect(segments.flatMap { $0 } == bytes, "each byte is there once")
        return segments
    }

    @Test func theLastSegmentMayBeShorter() {
        #expect(split(3600, size: 1200).map(\.count) == [1200, 1200, 1200])
        #expect(split(3601, size: 1200).map(\.count) == [1200, 1200, 1200, 1])
        #expect(split(65_507, size: 1200).map(\.count) == [Int](repeating: 1200, count: 54) + [707])
        #expect(split(5, size: 1).count == 5)
    }

    /// A single datagram comes without a segment size, or with one that is at least its length.
    @Test(arguments: [(1200, 0), (1200, 1200), (1200, 1201), (1200, 65_535), (1200, -1), (1, 0), (0, 0), (0, 1200)])
    func withoutASmallerSegmentSizeTheBufferIsOneDatagram(count: Int, size: Int) {
        #expect(split(count, size: size).map(\.count) == [count])
    }
}
