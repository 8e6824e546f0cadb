import Glibc

/// Memory for pixels, freed by its last holder.
protocol PixelMemory: AnyObject, Sendable {
    var base: UnsafeMutableRawPointer { get }
    var byteCount: Int { get }
}

/// Memory private to this process.
final class HeapMemory: PixelMemory, @unchecked Sendable {
    // Sendable: immutable except for the pixels, which the capture thread writes before it delivers a picture.

    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Zeroed (black) and page-aligned, with 64 extra bytes, because vector code may read beyond the end.
    init(byteCount: Int) {
        self.byteCount = byteCount
        base = .allocate(byteCount: byteCount + 64, alignment: 4096)
        memset(base, 0, byteCount + 64)
    }

    deinit { base.deallocate() }
}
