import BeamLibAV
import BeamMedia
import CAVCodec

/// Turns decoded frames into pictures. An 8-bit 4:2:0 frame is used without a copy, others are converted. Used by one
/// thread.
final class RecordedPictures {
    /// In pixels.
    static let maxSide = 8192

    private let pool = PixelBufferPool()
    private var converter: FrameConverter?
    /// The file is a Y4M, which can't say its colours: those that BeamRoom writes are BT.709 in any size.
    private let isY4M: Bool

    init(isY4M: Bool = false) { self.isY4M = isY4M }

    /// Why pictures of `size` can't be shared; nil if they can.
    static func rejectionReason(_ size: PixelSize) -> String? {
        guard size.width > 0, size.height > 0 else { return "its pictures have no size" }
        guard size.width <= maxSide, size.height <= maxSide else {
            return "its pictures are \(size), more than \(maxSide) pixels a side"
        }
        return nil
    }

    /// Why a frame can't become a picture.
    struct Refusal: Error { let reason: String }

    private static let noPicture = Refusal(reason: "a decoded picture is empty, or there is not enough memory")

    /// Moves the picture out of `frame`, which is empty afterwards.
    func picture(takingFrom frame: FrameHandle) throws(Refusal) -> (PixelBuffer, ColourDescription) {
        let fields = frame.pointer.pointee
        let size = PixelSize(width: Int(fields.width), height: Int(fields.height))
        if let reason = Self.rejectionReason(size) { throw Refusal(reason: reason) }
        let format = AVPixelFormat(fields.format)
        let colour = try colour(of: fields, format)
        let strides = (fields.linesize.0, fields.linesize.1, fields.linesize.2)
        if format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P, strides.0 > 0, strides.1 > 0, strides.2 > 0 {
            guard let buffer = frame.moveIntoBuffer(format: .i420, size: size) else { throw Self.noPicture }
            return (buffer, colour)
        }
        let kind = FrameConverter.Kind(format: format, size: size, colour: colour)
        if converter?.kind != kind { converter = FrameConverter(kind) }
        guard let converter else {
            let name = av_get_pix_fmt_name(format).map { String(cString: $0) } ?? "unknown"
            throw Refusal(reason: "its pixel format \(name) can't be converted")
        }
        let buffer = pool.buffer(format: .i420, size: size)
        guard converter.convert(frame, into: buffer) else { throw Refusal(reason: "its pictures can't be converted") }
        av_frame_unref(frame.pointer)
        return (buffer, colour)
    }

    /// The resulting picture's colour description: the stream's own; or, as players take it, BT.601 for a film in
    /// standard definition and BT.709 for others, limited range. RGB and grey pictures are converted to BT.709 limited
    /// range.
    private func colour(of frame: AVFrame, _ format: AVPixelFormat) throws(Refusal) -> ColourDescription {
        guard let descriptor = av_pix_fmt_desc_get(format) else {
            throw Refusal(reason: "its pixel format isn't known")
        }
        if !FrameConverter.isYUV(descriptor.pointee) { return .bt709Limited }
        let matrix: ColourDescription.Matrix =
            switch frame.colorspace {
            case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M, AVCOL_SPC_FCC: .bt601
            case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: .bt2020
            case AVCOL_SPC_YCGCO, AVCOL_SPC_ICTCP:
                throw Refusal(reason: "its colours are neither RGB nor BT.709, BT.601 or BT.2020")
            case AVCOL_SPC_UNSPECIFIED: isY4M ? .bt709 : Self.untagged(frame)
            default: .bt709
            }
        let full = [
            AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P,
        ]
        return ColourDescription(
            matrix: matrix, isFullRange: frame.color_range == AVCOL_RANGE_JPEG || full.contains(format))
    }

    /// High definition from this height on; or from this width on, because a wide film has fewer lines (1280 × 534).
    private static let leastHighDefinition = PixelSize(width: 1280, height: 720)

    /// The matrix of a stream that doesn't say it: that of its primaries, or the usual one for its size.
    private static func untagged(_ frame: AVFrame) -> ColourDescription.Matrix {
        switch frame.color_primaries {
        case AVCOL_PRI_BT709: return .bt709
        case AVCOL_PRI_BT470M, AVCOL_PRI_BT470BG, AVCOL_PRI_SMPTE170M, AVCOL_PRI_SMPTE240M: return .bt601
        case AVCOL_PRI_BT2020: return .bt2020
        default: break
        }
        let isHigh =
            frame.height >= leastHighDefinition.height || frame.width >= leastHighDefinition.width
        return isHigh ? .bt709 : .bt601
    }
}

/// Converts one kind of frame to 8-bit 4:2:0 with swscale. Size and colour description stay; RGB and grey become the
/// kind's colour description.
private final class FrameConverter {
    struct Kind: Equatable {
        var format: AVPixelFormat
        var size: PixelSize
        /// Of the result.
        var colour: ColourDescription
    }

    let kind: Kind
    private let context: OpaquePointer

    static func isYUV(_ descriptor: AVPixFmtDescriptor) -> Bool {
        descriptor.nb_components >= 3 && descriptor.flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) == 0
    }

    /// Nil when swscale doesn't know the format.
    init?(_ kind: Kind) {
        guard let descriptor = av_pix_fmt_desc_get(kind.format), let context = sws_alloc_context() else { return nil }
        self.kind = kind
        self.context = context
        let options = UnsafeMutableRawPointer(context)
        func set(_ name: String, _ value: Int) { av_opt_set_int(options, name, Int64(value), 0) }
        set("srcw", kind.size.width)
        set("srch", kind.size.height)
        set("src_format", Int(kind.format.rawValue))
        set("dstw", kind.size.width)
        set("dsth", kind.size.height)
        set("dst_format", Int(AV_PIX_FMT_YUV420P.rawValue))
        set("sws_flags", Int(SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP))
        // Chroma is sited in the centre of its 2 × 2 pixels (128 is half a luma sample), as everywhere in BeamRoom.
        set("src_h_chr_pos", descriptor.pointee.log2_chroma_w > 0 ? 128 : 0)
        set("src_v_chr_pos", descriptor.pointee.log2_chroma_h > 0 ? 128 : 0)
        set("dst_h_chr_pos", 128)
        set("dst_v_chr_pos", 128)
        // RGB and grey samples are always full range.
        let toFull: CInt = kind.colour.isFullRange ? 1 : 0
        let fromFull = Self.isYUV(descriptor.pointee) ? toFull : 1
        set("src_range", Int(fromFull))
        set("dst_range", Int(toFull))
        guard sws_init_context(context, nil, nil) >= 0 else {
            sws_freeContext(context)
            return nil
        }
        let matrix =
            switch kind.colour.matrix {
            case .bt709: SWS_CS_ITU709
            case .bt601: SWS_CS_ITU601
            case .bt2020: SWS_CS_BT2020
            }
        let unit: CInt = 1 << 16
        sws_setColorspaceDetails(
            context, sws_getCoefficients(matrix), fromFull, sws_getCoefficients(matrix), toFull, 0, unit, unit)
    }

    deinit { sws_freeContext(context) }

    func convert(_ frame: FrameHandle, into buffer: PixelBuffer) -> Bool {
        let fields = frame.pointer
        let source: [UnsafePointer<UInt8>?] = withUnsafeBytes(of: &fields.pointee.data) {
            $0.bindMemory(to: UnsafeMutablePointer<UInt8>?.self).prefix(4).map { UnsafePointer($0) }
        }
        let sourceStrides = withUnsafeBytes(of: &fields.pointee.linesize) {
            Array($0.bindMemory(to: CInt.self).prefix(4))
        }
        let target: [UnsafeMutablePointer<UInt8>?] =
            buffer.planes.map { $0.base.assumingMemoryBound(to: UInt8.self) } + [nil]
        let targetStrides = buffer.planes.map { CInt($0.stride) } + [0]
        let height = CInt(kind.size.height)
        return sws_scale(context, source, sourceStrides, 0, height, target, targetStrides) == height
    }
}
