import BeamMedia
import Synchronization

/// A buffer that pictures are grabbed into, again and again; the capture thread's.
final class Frame {
    let size: PixelSize
    let memory: any PixelMemory
    /// What on the display may differ from what the buffer holds.
    var stale: DamageRegion
    fileprivate let loan = Loan()

    /// Whether somebody holds a picture of it.
    var isLent: Bool { loan.isOut }

    /// Bytes from one row to the next.
    var stride: Int { size.width * 4 }

    init(size: PixelSize, memory: any PixelMemory) {
        self.size = size
        self.memory = memory
        stale = DamageRegion(PixelRect(size))
    }

    func pixel(x: Int, y: Int) -> UnsafeMutableRawPointer { memory.base + y * stride + x * 4 }

    /// The buffer as a picture's; it counts as lent until the last holder lets go, who may be on any thread.
    func lend(_ control: CaptureControl) -> PixelBuffer {
        let loan = loan
        let memory = memory
        loan.begin()
        return PixelBuffer(format: .bgrx, size: size, planes: [Plane(base: memory.base, stride: stride)]) {
            // Holding the memory here keeps it until now, though the store may have gone on to another size.
            withExtendedLifetime(memory) { loan.end() }
            control.bufferReturned()
        }
    }
}

private final class Loan: Sendable {
    /// Pictures of the frame that somebody holds.
    private let holders = Atomic(0)

    var isOut: Bool { holders.load(ordering: .sequentiallyConsistent) > 0 }

    func begin() { holders.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    func end() { holders.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
}

/// The few buffers of one size that pictures take turns in, made when first needed.
final class FrameStore {
    /// One in the hands of each of the encoder and the slot before it, one to grab into, one to spare.
    static let limit = 4

    let size: PixelSize
    private var frames: [Frame] = []

    init(size: PixelSize) { self.size = size }

    /// What has changed on the display makes every buffer that much older.
    func markStale(_ region: DamageRegion) {
        for frame in frames { frame.stale.formUnion(region) }
    }

    var hasFree: Bool { frames.count < Self.limit || frames.contains { !$0.isLent } }

    /// The free buffer with the least to grab; nil when none is free. `allocate` makes memory for a new one.
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
