import BeamMedia
import CAVCodec

/// Scales pictures with libswscale without changing their colour space, so that scaled and unscaled pictures become RGB
/// by the same arithmetic.
@MainActor final class PictureScaler {
    private struct Setup: Hashable {
        var format: PixelFormat
        var source: PixelSize
        var target: PixelSize
        var fit: Fit
    }

    /// How far a change extends: in source pixels (the outermost chroma tap when enlarging) and in result pixels (a
    /// source pixel's share in neighbours when reducing).
    nonisolated static let reach = (source: 6, target: 2)

    private var setup: Setup?
    private var context: OpaquePointer?
    private var output: PixelBuffer?

    isolated deinit { sws_freeContext(context) }

    /// Scales rows `rows` of the result. YCbCr becomes i444, RGB stays bgrx. The returned buffer belongs to the scaler
    /// and has the full size; its other rows hold earlier results.
    func scale(_ source: PixelBuffer, to size: PixelSize, fit: Fit, rows: Range<Int>) -> PixelBuffer? {
        let wanted = Setup(format: source.format, source: source.size, target: size, fit: fit)
        if setup != wanted {
            sws_freeContext(context)
            context = Self.makeContext(wanted)
            setup = context == nil ? nil : wanted
            let format: PixelFormat = source.format == .bgrx ? .bgrx : .i444
            if output?.size != size || output?.format != format { output = PixelBuffer(format: format, size: size) }
        }
        guard let context, let output, let from = LentFrame(source, Self.format(source.format)),
            let to = LentFrame(output, Self.format(output.format)), sws_frame_start(context, to.raw, from.raw) >= 0
        else { return nil }
        defer { sws_frame_end(context) }
        guard sws_send_slice(context, 0, UInt32(source.size.height)) >= 0,
            sws_receive_slice(context, UInt32(rows.lowerBound), UInt32(rows.count)) >= 0
        else { return nil }
        return output
    }

    private static func makeContext(_ setup: Setup) -> OpaquePointer? {
        guard let context = sws_alloc_context() else { return nil }
        let object = UnsafeMutableRawPointer(context)
        func set(_ name: String, _ value: Int) { av_opt_set_int(object, name, Int64(value), 0) }
        set("srcw", setup.source.width)
        set("srch", setup.source.height)
        set("dstw", setup.target.width)
        set("dsth", setup.target.height)
        set("src_format", Int(format(setup.format).rawValue))
        set("dst_format", Int((setup.format == .bgrx ? AV_PIX_FMT_BGR0 : AV_PIX_FMT_YUV444P).rawValue))
        // In 1/256 of a luma pixel: 4:2:0 chroma is sited in the centre of its four pixels.
        if setup.format == .i420 {
            set("src_h_chr_pos", 128)
            set("src_v_chr_pos", 128)
        }
        let isReduced = setup.fit == .reduced
        set("sws_flags", Int(isReduced ? SWS_AREA : SWS_BICUBIC) | Int(SWS_ACCURATE_RND))
        if !isReduced {
            // Cubic with B = 0 and C = 1/2 is Catmull-Rom.
            av_opt_set_double(object, "param0", 0, 0)
            av_opt_set_double(object, "param1", 0.5, 0)
        }
        guard sws_init_context(context, nil, nil) >= 0 else {
            sws_freeContext(context)
            return nil
        }
        return context
    }

    private static func format(_ format: PixelFormat) -> AVPixelFormat {
        switch format {
        case .bgrx: AV_PIX_FMT_BGR0
        case .i420: AV_PIX_FMT_YUV420P
        case .i444: AV_PIX_FMT_YUV444P
        }
    }
}

/// A buffer's planes as an AVFrame, which libswscale doesn't keep longer than the buffer lives.
private final class LentFrame {
    let raw: UnsafeMutablePointer<AVFrame>

    /// Nil if allocation fails.
    init?(_ buffer: PixelBuffer, _ format: AVPixelFormat) {
        guard let raw = av_frame_alloc() else { return nil }
        self.raw = raw
        let first = buffer.planes[0]
        // A buffer reference whose free function does nothing keeps libswscale from copying the picture.
        raw.pointee.buf.0 = av_buffer_create(
            first.base.assumingMemoryBound(to: UInt8.self), first.stride * buffer.size.height, { _, _ in }, nil, 0)
        guard raw.pointee.buf.0 != nil else { return nil }
        raw.pointee.format = format.rawValue
        raw.pointee.width = Int32(buffer.size.width)
        raw.pointee.height = Int32(buffer.size.height)
        func base(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
            index < buffer.planes.count ? buffer.planes[index].base.assumingMemoryBound(to: UInt8.self) : nil
        }
        func stride(_ index: Int) -> Int32 { index < buffer.planes.count ? Int32(buffer.planes[index].stride) : 0 }
        (raw.pointee.data.0, raw.pointee.data.1, raw.pointee.data.2) = (base(0), base(1), base(2))
        (raw.pointee.linesize.0, raw.pointee.linesize.1, raw.pointee.linesize.2) = (stride(0), stride(1), stride(2))
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = raw
        av_frame_free(&pointer)
    }
}
