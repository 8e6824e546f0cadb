import Glibc
import Testing

@testable import beamroom

@Suite struct HeapSettingsTests {
    /// malloc.c: the word before a block has its size, and this flag if the block has a mapping of its own.
    private static let isMapped: UInt = 2

    @Test func largeBlocksAreMappedEvenAfterALargerOneWasFreed() throws {
        HeapSettings.apply()
        // Without the setting, freeing this one would raise the size from which blocks are mapped to 30 MiB.
        free(malloc(30 << 20))
        // Larger than any hole that other tests of this process may have left in the heap.
        let size = 24 << 20
        let block = try #require(malloc(size))
        defer { free(block) }
        let header = (block - MemoryLayout<UInt>.size).load(as: UInt.self)
        #expect(header & Self.isMapped != 0, "a block of \(size) bytes is in the heap, which keeps its memory")
    }
}
