import BeamMedia
import CAVCodec

/// Scales pictures with libswscale, keeping their colour space: what becomes RGB then becomes it by the same arithmetic as
/// a picture that isn't scaled.
@MainActor final class PictureScaler {
    private struct Setup: Hashable {
        var format: PixelFormat
        var source: PixelSize
        var target: PixelSize
        var fit: Fit
    }

    private var setup: Setup?
    private var context: OpaquePointer?
    private var output: PixelBuffer?

    isolated deinit { sws_freeContext(context) }

    /// The picture in `size`: YCbCr comes as i444, RGB as bgrx. The buffer is the scaler's, and overwritten by the next call.
    func scale(_ source: PixelBuffer, to size: PixelSize, fit: Fit) -> PixelBuffer? {
        let wanted = Setup(format: source.format, source: source.size, target: size, fit: fit)
        if setup != wanted {
            sws_freeContext(context)
            context = Self.makeContext(wanted)
            setup = context == nil ? nil : wanted
            let format: PixelFormat = source.format == .bgrx ? .bgrx : .i444
            if output?.size != size || output?.format != format { output = PixelBuffer(format: format, size: size) }
        }
        guard let context, let output else { return nil }
        let from: [UnsafePointer<UInt8>?] = source.planes.map {
            UnsafePointer($0.base.assumingMemoryBound(to: UInt8.self))
        }
        let to: [UnsafeMutablePointer<UInt8>?] = output.planes.map { $0.base.assumingMemoryBound(to: UInt8.self) }
        let rows = sws_scale(
            context, from, source.planes.map { Int32($0.stride) }, 0, Int32(source.size.height), to,
            output.planes.map { Int32($0.stride) })
        return rows > 0 ? output : nil
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
        // In 256ths of a luma pixel: 4:2:0 chroma sits in the middle of its four pixels.
        if setup.format == .i420 {
            set("src_h_chr_pos", 128)
            set("src_v_chr_pos", 128)
        }
        let isReduced = setup.fit == .reduced
        set("sws_flags", Int(isReduced ? SWS_AREA : SWS_BICUBIC) | Int(SWS_ACCURATE_RND))
        if !isReduced {
            // Cubic with B = 0 and C = 1/2: Catmull-Rom.
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
