import BeamMedia
import CAVCodec

/// Owns an `AVFrame`.
package final class FrameHandle {
    package let pointer: UnsafeMutablePointer<AVFrame>

    /// Nil if allocation fails.
    package init?() {
        guard let pointer = av_frame_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }

    /// Moves the frame's reference into a buffer of `size` without copying. The reference is released with the buffer's
    /// last reader.
    ///
    /// Nil if the frame doesn't have the three planes of `format`, or allocation fails.
    package func moveIntoBuffer(format: PixelFormat, size: PixelSize) -> PixelBuffer? {
        guard let holder = FrameHandle() else { return nil }
        av_frame_move_ref(holder.pointer, pointer)
        let fields = holder.pointer.pointee
        guard let y = fields.data.0, let u = fields.data.1, let v = fields.data.2,
            fields.linesize.0 > 0, fields.linesize.1 > 0, fields.linesize.2 > 0
        else { return nil }
        let planes = [
            Plane(base: y, stride: Int(fields.linesize.0)), Plane(base: u, stride: Int(fields.linesize.1)),
            Plane(base: v, stride: Int(fields.linesize.2)),
        ]
        // Sendable: only `release` uses it, once, and a frame may be freed on any thread.
        nonisolated(unsafe) let kept = holder
        return PixelBuffer(format: format, size: size, planes: planes) { av_frame_unref(kept.pointer) }
    }
}

/// Owns an `AVPacket`.
package final class PacketHandle {
    package let pointer: UnsafeMutablePointer<AVPacket>

    /// Nil if allocation fails.
    package init?() {
        guard let pointer = av_packet_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }
}

/// Owns an `AVCodecContext`.
package final class CodecHandle {
    package let pointer: UnsafeMutablePointer<AVCodecContext>

    /// Nil if allocation fails.
    package init?(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecContext>? = pointer
        avcodec_free_context(&pointer)
    }
}
