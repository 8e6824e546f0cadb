import BeamLibAV
import BeamMedia
import BeamPixels
import CAVCodec

/// Makes pictures from decoded frames: in the frame's own memory if its format is one of ours, else a converted copy.
final class DecodedPictures {
    private let pool = PixelBufferPool()
    private var scaler: PlaneScaler?
    /// The last picture's buffer and colour description, to find the damage.
    private var last: (buffer: PixelBuffer, colour: ColourDescription)?
    private var change = PictureChange()

    /// Moves the picture out of `handle`, which is empty afterwards. `frame` is the frame that it was decoded from.
    func picture(takingFrom handle: FrameHandle, of frame: ReceivedFrame) throws(CodecError) -> Picture {
        let decoded = handle.pointer.pointee
        let coded = PixelSize(width: Int(decoded.width), height: Int(decoded.height))
        guard LibAV.isSupported(coded) else {
            throw .unsupportedStream(
                reason: "its pictures are \(coded), more than 8192 pixels a side or too many in all")
        }
        let size = Self.visibleSize(coded: coded, said: frame.unit.size)
        let format = AVPixelFormat(decoded.format)
        let colour = try Self.colour(of: decoded, format)
        let buffer =
            switch format {
            case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: try Self.moved(handle, .i420, size)
            case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P: try Self.moved(handle, .i444, size)
            default: try convert(handle, format, coded: coded, size: size, colour)
            }
        var picture = Picture(
            buffer: buffer, colour: colour, time: frame.lastArrival, damage: damage(of: buffer, colour),
            number: UInt64(frame.number))
        picture.captureTime = frame.captureTime
        return picture
    }

    /// What has changed since the last picture; nil: everything. Found by comparison, because the decoder doesn't say
    /// which blocks it copied.
    private func damage(of buffer: PixelBuffer, _ colour: ColourDescription) -> DamageRegion? {
        defer { last = (buffer, colour) }
        guard let last, last.buffer.size == buffer.size, last.buffer.format == buffer.format, last.colour == colour
        else { return nil }
        return change.damage(from: last.buffer, to: buffer)
    }

    /// The sender's size, if it is at most one column and row less than the coded one, for an odd size that 4:2:0 can't
    /// code; else the coded size.
    private static func visibleSize(coded: PixelSize, said: PixelSize) -> PixelSize {
        (0...1).contains(coded.width - said.width) && (0...1).contains(coded.height - said.height)
            && said.width > 0 && said.height > 0 ? said : coded
    }

    /// The colour description from the stream's VUI (H.264 annex E); the one that BeamRoom sends if there is none.
    private static func colour(of frame: AVFrame, _ format: AVPixelFormat) throws(CodecError) -> ColourDescription {
        let matrix: ColourDescription.Matrix =
            switch frame.colorspace {
            case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M, AVCOL_SPC_FCC: .bt601
            case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: .bt2020
            case AVCOL_SPC_RGB, AVCOL_SPC_YCGCO:
                throw .unsupportedStream(reason: "its samples are neither BT.709 nor BT.601 nor BT.2020 colours")
            default: .bt709
            }
        let isFull =
            frame.color_range == AVCOL_RANGE_JPEG || format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ444P
            || format == AV_PIX_FMT_YUVJ422P
        return ColourDescription(matrix: matrix, isFullRange: isFull)
    }

    private static func moved(
        _ frame: FrameHandle, _ format: PixelFormat, _ size: PixelSize
    ) throws(CodecError) -> PixelBuffer {
        guard let buffer = frame.moveIntoBuffer(format: format, size: size) else {
            throw .damagedFrame(reason: "it has no picture")
        }
        return buffer
    }

    /// Converts semi-planar and deeper formats, which some decoders return, to 8-bit 4:2:0 with the same colour
    /// description.
    private func convert(
        _ frame: FrameHandle, _ format: AVPixelFormat, coded: PixelSize, size: PixelSize, _ colour: ColourDescription
    ) throws(CodecError) -> PixelBuffer {
        let from = PlaneScaler.End(format: format, size: coded, colour: colour)
        let to = PlaneScaler.End(format: AV_PIX_FMT_YUV420P, size: coded, colour: colour)
        if scaler?.from != from || scaler?.to != to { scaler = PlaneScaler(from: from, to: to) }
        guard let scaler, let target = FrameHandle() else {
            let name = av_get_pix_fmt_name(format).map { String(cString: $0) } ?? "an unknown format"
            throw .unsupportedStream(reason: "its pictures are \(name)")
        }
        let whole = pool.buffer(format: .i420, size: coded)
        guard target.lend(whole, format: to.format, size: coded) else {
            throw .damagedFrame(reason: "there is not enough memory")
        }
        try scaler.scale(frame, into: target)
        av_frame_unref(frame.pointer)
        guard size != coded else { return whole }
        return PixelBuffer(format: .i420, size: size, planes: whole.planes) { _ = whole }
    }
}
