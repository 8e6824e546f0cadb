import BeamLibAV
import BeamMedia
import CAVCodec

/// A device whose encoder takes pictures from its own memory only (VA-API), and that memory.
final class EncoderDevice {
    /// The `AVHWFramesContext` that the encoder is opened with.
    let frames: UnsafeMutablePointer<AVBufferRef>

    init(
        kind: AVHWDeviceType, format: AVPixelFormat, software: AVPixelFormat, size: PixelSize
    ) throws(OpenedEncoder.Failure) {
        var device: UnsafeMutablePointer<AVBufferRef>?
        let result = av_hwdevice_ctx_create(&device, kind, nil, nil, 0)
        guard result >= 0, let opened = device else {
            let name = av_hwdevice_get_type_name(kind).map { String(cString: $0) } ?? "hardware"
            throw OpenedEncoder.Failure(reason: "no \(name) device can be opened (\(LibAV.message(result)))")
        }
        defer { av_buffer_unref(&device) }
        guard let frames = av_hwframe_ctx_alloc(opened) else {
            throw OpenedEncoder.Failure(reason: "there is not enough memory")
        }
        frames.pointee.data.withMemoryRebound(to: AVHWFramesContext.self, capacity: 1) { context in
            context.pointee.format = format
            context.pointee.sw_format = software
            context.pointee.width = CInt(size.width)
            context.pointee.height = CInt(size.height)
            context.pointee.initial_pool_size = 8
        }
        let initialised = av_hwframe_ctx_init(frames)
        guard initialised >= 0 else {
            var frames: UnsafeMutablePointer<AVBufferRef>? = frames
            av_buffer_unref(&frames)
            throw OpenedEncoder.Failure(reason: "the device gives no picture memory (\(LibAV.message(initialised)))")
        }
        self.frames = frames
    }

    deinit {
        var frames: UnsafeMutablePointer<AVBufferRef>? = frames
        av_buffer_unref(&frames)
    }

    /// The format and kind of device that `codec` wants, where it is one that pictures can be uploaded to.
    static func kind(
        _ codec: UnsafePointer<AVCodec>, formats: [AVPixelFormat]
    ) -> (format: AVPixelFormat, kind: AVHWDeviceType)? {
        var index: CInt = 0
        while let config = avcodec_get_hw_config(codec, index) {
            index += 1
            let usesFrames = config.pointee.methods & CInt(AV_CODEC_HW_CONFIG_METHOD_HW_FRAMES_CTX) != 0
            if usesFrames, formats.contains(config.pointee.pix_fmt) {
                return (config.pointee.pix_fmt, config.pointee.device_type)
            }
        }
        return nil
    }

    /// Copies `frame` to the device, into `uploaded`.
    func upload(_ frame: FrameHandle, into uploaded: FrameHandle) throws(CodecError) {
        av_frame_unref(uploaded.pointer)
        var result = av_hwframe_get_buffer(frames, uploaded.pointer, 0)
        if result >= 0 { result = av_hwframe_transfer_data(uploaded.pointer, frame.pointer, 0) }
        guard result >= 0 else {
            throw .encodingFailed(reason: "a picture could not be handed to the device (\(LibAV.message(result)))")
        }
    }
}
