import BeamMedia
import Synchronization

/// A reusable buffer for grabbed pictures. Owned by the capture thread.
final class Frame {
    let size: PixelSize
    let memory: any PixelMemory
    /// The part of the buffer that may differ from the display.
    var stale: DamageRegion
    fileprivate let loan = Loan()

    /// Whether a picture of this buffer is still in use.
    var isLent: Bool { loan.isOut }

    /// Bytes from one row to the next.
    var stride: Int { size.width * 4 }

    init(size: PixelSize, memory: any PixelMemory) {
        self.size = size
        self.memory = memory
        stale = DamageRegion(PixelRect(size))
    }

    func pixel(x: Int, y: Int) -> UnsafeMutableRawPointer { memory.base + y * stride + x * 4 }

    /// The buffer as a picture's pixels. It counts as lent until the last holder, on any thread, releases it.
    func lend(_ control: CaptureControl) -> PixelBuffer {
        let loan = loan
        let memory = memory
        loan.begin()
        return PixelBuffer(format: .bgrx, size: size, planes: [Plane(base: memory.base, stride: stride)]) {
            // Keeps the memory alive until now, even if the store has been replaced by one of another size.
            withExtendedLifetime(memory) { loan.end() }
            control.bufferReturned()
        }
    }
}

private final class Loan: Sendable {
    /// The number of pictures of this frame in use.
    private let holders = Atomic(0)

    var isOut: Bool { holders.load(ordering: .sequentiallyConsistent) > 0 }

    func begin() { holders.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    func end() { holders.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
}

/// A pool of buffers of one size, allocated when first needed.
final class FrameStore {
    /// One held by the encoder, one in the slot before it, one to send exactly, one to grab into, one spare.
    static let limit = 5

    let size: PixelSize
    private var frames: [Frame] = []

    init(size: PixelSize) { self.size = size }

    /// Adds damage to every buffer's stale region.
    func markStale(_ region: DamageRegion) {
        for frame in frames { frame.stale.formUnion(region) }
    }

    var hasFree: Bool { frames.count < Self.limit || frames.contains { !$0.isLent } }

    /// The free buffer with the smallest stale area, or a new one from `allocate`; nil if all are lent.
    func takeFree<Failure: Error>(
        allocate: (_ byteCount: Int) throws(Failure) -> any PixelMemory
    ) throws(Failure) -> Frame? {
        if let frame = frames.lazy.filter({ !$0.isLent }).min(by: { $0.stale.area < $1.stale.area }) { return frame }
        guard frames.count < Self.limit else { return nil }
        let frame = Frame(size: size, memory: try allocate(size.area * 4))
        frames.append(frame)
        return frame
    }
}
