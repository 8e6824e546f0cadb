import BeamLibAV
import BeamMedia
import CAVCodec
import CLateLibraries

/// swscale between two formats, sizes and colour descriptions. Used by one thread at a time; divides large pictures
/// among threads of its own.
final class PlaneScaler {
    /// Format, size and colour description of the source or the destination.
    struct End: Equatable {
        var format: AVPixelFormat
        var size: PixelSize
        /// Ignored for RGB.
        var colour: ColourDescription
    }

    let from: End
    let to: End
    private let context: OpaquePointer

    /// Nil if swscale can't convert between the two.
    init?(from: End, to: End) {
        _ = LibAV.quietened
        guard beam_load_libswscale() == nil, let context = sws_alloc_context() else { return nil }
        self.from = from
        self.to = to
        self.context = context
        let options = UnsafeMutableRawPointer(context)
        func set(_ name: String, _ value: Int) { av_opt_set_int(options, name, Int64(value), 0) }
        set("srcw", from.size.width)
        set("srch", from.size.height)
        set("src_format", Int(from.format.rawValue))
        set("dstw", to.size.width)
        set("dsth", to.size.height)
        set("dst_format", Int(to.format.rawValue))
        set("src_range", from.colour.isFullRange ? 1 : 0)
        set("dst_range", to.colour.isFullRange ? 1 : 0)
        // Averaging keeps thin lines when the picture shrinks; interpolation would skip pixels.
        let shrinks = to.size.width < from.size.width || to.size.height < from.size.height
        set("sws_flags", Int((shrinks ? SWS_AREA : SWS_BICUBIC) | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP))
        // Chroma is in the centre of its 2 × 2 pixels (128 is half a luma sample), as everywhere in BeamRoom.
        for (end, format) in [("src", from.format), ("dst", to.format)] {
            let isSubsampled = Self.isSubsampled(format)
            set("\(end)_h_chr_pos", isSubsampled.horizontally ? 128 : 0)
            set("\(end)_v_chr_pos", isSubsampled.vertically ? 128 : 0)
        }
        if to.size.area > 640 * 360 { set("threads", Int(LibAV.sliceThreads)) }
        guard sws_init_context(context, nil, nil) >= 0 else { return nil }
        let unit: CInt = 1 << 16
        sws_setColorspaceDetails(
            context, sws_getCoefficients(from.colour.swsSpace), from.colour.isFullRange ? 1 : 0,
            sws_getCoefficients(to.colour.swsSpace), to.colour.isFullRange ? 1 : 0, 0, unit, unit)
    }

    deinit { sws_freeContext(context) }

    private static func isSubsampled(_ format: AVPixelFormat) -> (horizontally: Bool, vertically: Bool) {
        guard let descriptor = av_pix_fmt_desc_get(format) else { return (false, false) }
        return (descriptor.pointee.log2_chroma_w > 0, descriptor.pointee.log2_chroma_h > 0)
    }

    /// Both frames must have reference-counted memory of their end's format and size.
    func scale(_ source: FrameHandle, into destination: FrameHandle) throws(CodecError) {
        let result = sws_scale_frame(context, destination.pointer, source.pointer)
        guard result >= 0 else { throw .conversionFailed(reason: LibAV.message(result)) }
    }
}
