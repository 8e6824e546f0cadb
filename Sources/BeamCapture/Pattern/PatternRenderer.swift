import BeamMedia
import Synchronization

/// Draws the test pattern: a content (`PatternContent`) plus the frame's number and capture time as blocks that
/// `PatternCode` reads back. I420, BT.709 limited range.
///
/// A frame depends on options, number and time only and is bit-identical on every machine. The static part is drawn
/// once, so that a frame's cost is its moving parts. Used by one thread.
public final class PatternRenderer {
    public let options: PatternOptions
    private let scene: any PatternDrawing
    private let memory: BackgroundPool
    /// Where the moving parts of the last picture are.
    private var last: DamageRegion?

    /// - Throws: `unusablePattern`.
    public init(_ options: PatternOptions) throws(CaptureError) {
        try options.validate()
        self.options = options
        scene = options.drawing
        memory = BackgroundPool(size: options.size)
    }

    /// Draws all of frame `number` (0 or more; its low 32 bits count) into `buffer`, which is i420 and of the options'
    /// size.
    public func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer) {
        precondition(buffer.format == .i420 && buffer.size == options.size)
        _ = scene.draw(number, time: time, into: buffer, over: nil)
    }

    /// Frame `number` with `number` / frame rate as its capture time. Its damage is relative to the last picture made.
    public func picture(_ number: Int) -> Picture { picture(number, time: options.time(of: number)) }

    /// Frame `number` with capture time `time`. Its damage is relative to the last picture made.
    public func picture(_ number: Int, time: MediaTime) -> Picture {
        let kept = memory.take()
        let moving = scene.draw(number, time: time, into: kept.buffer, over: kept.drawn)
        var damage = moving
        if let last { damage.formUnion(last) } else { damage = DamageRegion(PixelRect(options.size)) }
        last = moving
        return Picture(
            buffer: memory.lend(kept.buffer, drawn: moving), time: time, damage: damage, number: UInt64(max(0, number)))
    }
}

/// A pool of buffers that already contain the background, and the moving parts of an earlier frame.
private final class BackgroundPool: Sendable {
    struct Kept: Sendable {
        var buffer: PixelBuffer
        /// Where the buffer differs from the background; nil: everywhere.
        var drawn: DamageRegion?
    }

    private let size: PixelSize
    private let idle = Mutex<[Kept]>([])
    private let limit = 4

    init(size: PixelSize) { self.size = size }

    func take() -> Kept {
        idle.withLock { $0.popLast() } ?? Kept(buffer: PixelBuffer(format: .i420, size: size), drawn: nil)
    }

    /// A view of `buffer` to hand on. When its last reader releases it, the buffer returns to the pool.
    func lend(_ buffer: PixelBuffer, drawn: DamageRegion) -> PixelBuffer {
        PixelBuffer(format: .i420, size: size, planes: buffer.planes) { [weak self] in
            self?.takeBack(Kept(buffer: buffer, drawn: drawn))
        }
    }

    private func takeBack(_ kept: Kept) {
        idle.withLock { if $0.count < limit { $0.append(kept) } }
    }
}
