import BeamLibAV
import BeamMedia
import CAVCodec

/// Converts pictures to an opened encoder's input: even size, its plane layout, its device's memory. In the usual case
/// (even size, planar) nothing is copied.
final class EncoderFeeder {
    private let coded: PixelSize
    private let opened: OpenedEncoder
    private let frame: FrameHandle
    private let converted: FrameHandle?
    private let uploaded: FrameHandle?
    private let scaler: PlaneScaler?
    private let evenPictures: EvenPictures

    /// Nil when there is no memory.
    init?(_ opened: OpenedEncoder, size: PixelSize) {
        guard let frame = FrameHandle() else { return nil }
        self.opened = opened
        self.frame = frame
        coded = size.codedSize
        evenPictures = EvenPictures(size)
        if opened.softwareFormat == AV_PIX_FMT_YUV420P {
            (converted, scaler) = (nil, nil)
        } else {
            guard let target = FrameHandle() else { return nil }
            target.pointer.pointee.format = opened.softwareFormat.rawValue
            target.pointer.pointee.width = CInt(coded.width)
            target.pointer.pointee.height = CInt(coded.height)
            guard av_frame_get_buffer(target.pointer, 0) >= 0,
                let rearranger = PlaneScaler(
                    from: .init(format: AV_PIX_FMT_YUV420P, size: coded, colour: .bt709Limited),
                    to: .init(format: opened.softwareFormat, size: coded, colour: .bt709Limited))
            else { return nil }
            (converted, scaler) = (target, rearranger)
        }
        if opened.device != nil {
            guard let target = FrameHandle() else { return nil }
            uploaded = target
        } else {
            uploaded = nil
        }
    }

    /// The frame for the encoder; valid until the next call or `releasePicture`.
    func frame(of picture: Picture) throws(CodecError) -> UnsafeMutablePointer<AVFrame> {
        guard frame.lend(evenPictures.even(picture.buffer), format: AV_PIX_FMT_YUV420P, size: coded) else {
            throw .encodingFailed(reason: "there is not enough memory")
        }
        var current = frame
        if let converted, let scaler {
            // If the encoder still reads the last frame, this allocates a new one.
            guard av_frame_make_writable(converted.pointer) >= 0 else {
                throw .encodingFailed(reason: "there is not enough memory")
            }
            try scaler.scale(current, into: converted)
            current = converted
        }
        if let uploaded, let device = opened.device {
            try device.upload(current, into: uploaded)
            current = uploaded
        }
        current.pointer.pointee.colorspace = ColourDescription.bt709Limited.space
        current.pointer.pointee.color_range = AVCOL_RANGE_MPEG
        return current.pointer
    }

    /// Releases the last picture's memory; the encoder may hold a reference of its own.
    func releasePicture() { av_frame_unref(frame.pointer) }
}
