import Synchronization

/// Reuses picture memory, because first use of new pages costs more time than filling them.
///
/// Keeps buffers of one format and size. Asking for another drops the old ones.
public final class PixelBufferPool: Sendable {
    private struct Idle: Sendable {
        var format = PixelFormat.bgrx
        var size = PixelSize(width: 0, height: 0)
        var buffers: [PixelBuffer] = []
    }

    private let idle = Mutex(Idle())
    private let limit: Int

    /// - Parameter limit: how many unused buffers are kept.
    public init(limit: Int = 4) { self.limit = limit }

    /// A buffer of `size` with undefined content. It returns to the pool when its last holder releases it.
    public func buffer(format: PixelFormat, size: PixelSize) -> PixelBuffer {
        let backing =
            idle.withLock { idle -> PixelBuffer? in
                if idle.format != format || idle.size != size {
                    idle = Idle(format: format, size: size)
                }
                return idle.buffers.popLast()
            } ?? PixelBuffer(format: format, size: size)
        return PixelBuffer(format: format, size: size, planes: backing.planes) { [weak self] in
            self?.takeBack(backing)
        }
    }

    private func takeBack(_ buffer: PixelBuffer) {
        idle.withLock { idle in
            guard idle.format == buffer.format, idle.size == buffer.size, idle.buffers.count < limit else { return }
            idle.buffers.append(buffer)
        }
    }
}
