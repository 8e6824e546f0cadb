import Glibc
import Testing

@testable import beamroom

@Suite struct HeapSettingsTests {
    /// malloc.c: the word before a block has its size, and this flag if the block has a mapping of its own.
    private static let isMapped: UInt = 2

    /// A sanitizer puts a heap of its own in place of the C library's.
    private static let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    @Test(.enabled(if: !isSanitized, "the heap is a sanitizer's"))
    func largeBlocksAreMappedEvenAfterALargerOneWasFreed() throws {
        HeapSettings.apply()
        // Without the setting, freeing this one would raise the size from which blocks are mapped to 30 MiB.
        free(malloc(30 << 20))
        // Other tests of this process run beside and leave holes in the heap, which the first blocks may fill.
        let size = 24 << 20
        let blocks = try (0..<8).map { _ in try #require(malloc(size)) }
        defer { blocks.forEach { free($0) } }
        let headers = blocks.map { ($0 - MemoryLayout<UInt>.size).load(as: UInt.self) }
        #expect(
            headers.contains { $0 & Self.isMapped != 0 },
            "blocks of \(size) bytes are all in the heap, which keeps their memory")
    }
}
