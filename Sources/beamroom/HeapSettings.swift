import CHeap

/// How the C library's heap gives memory back to the system.
enum HeapSettings {
    /// Blocks of this size or more, in bytes, are mapped and unmapped one by one. That is glibc's own initial value
    /// (mallopt(3)), but glibc raises it, up to 32 MiB, to each such block that is freed. Then the pictures of an encoder
    /// that is closed leave holes in the heap, which the next encoder doesn't fit into: a host of 1280 × 720 kept 1 to
    /// 5 MiB each time that it had closed the reduced layer's encoder. Most frames are smaller, and the memory of
    /// pictures is reused, so memory is hardly ever mapped for a frame.
    private static let leastMapped = 128 << 10

    /// Call it before anything allocates much.
    static func apply() {
        // A refusal leaves glibc's own behaviour.
        _ = beam_map_blocks_from(leastMapped)
    }
}
