import BeamLibAV
import BeamMedia
import CAVCodec

/// A device whose encoder takes pictures only from its own memory (VA-API), and that memory.
final class EncoderDevice {
    /// The `AVHWFramesContext` that the encoder is opened with.
    let frames: UnsafeMutablePointer<AVBufferRef>

    /// Opens the first device of the kind that provides memory for pictures of `size`.
    init(
        kind: AVHWDeviceType, format: AVPixelFormat, software: AVPixelFormat, size: PixelSize
    ) throws(OpenedEncoder.Failure) {
        var reasons: [String] = []
        for path in Self.devices(kind) {
            do throws(OpenedEncoder.Failure) {
                frames = try Self.open(kind, path, format: format, software: software, size: size)
                return
            } catch {
                reasons.append(error.reason)
            }
        }
        throw OpenedEncoder.Failure(
            reason: reasons.isEmpty
                ? "there is no graphics device (\(RenderDevices.standardDirectory)/renderD…)"
                : reasons.joined(separator: "; "))
    }

    deinit {
        var frames: UnsafeMutablePointer<AVBufferRef>? = frames
        av_buffer_unref(&frames)
    }

    /// The devices to try; nil: the library's default.
    private static func devices(_ kind: AVHWDeviceType) -> [String?] {
        kind == AV_HWDEVICE_TYPE_VAAPI ? RenderDevices.paths() : [nil]
    }

    private static func open(
        _ kind: AVHWDeviceType, _ path: String?, format: AVPixelFormat, software: AVPixelFormat, size: PixelSize
    ) throws(OpenedEncoder.Failure) -> UnsafeMutablePointer<AVBufferRef> {
        if let path {
            do throws(HardwareDevice.Failure) {
                return try memory(of: try HardwareDevice(path: path).reference, format, software, size, path)
            } catch {
                throw OpenedEncoder.Failure(reason: error.reason)
            }
        }
        let name = av_hwdevice_get_type_name(kind).map { String(cString: $0) } ?? "hardware"
        var device: UnsafeMutablePointer<AVBufferRef>?
        let result = av_hwdevice_ctx_create(&device, kind, nil, nil, 0)
        guard result >= 0, let opened = device else {
            throw OpenedEncoder.Failure(reason: "no \(name) device can be opened (\(LibAV.message(result)))")
        }
        defer { av_buffer_unref(&device) }
        do throws(HardwareDevice.Failure) {
            return try memory(of: opened, format, software, size, "the \(name) device")
        } catch {
            throw OpenedEncoder.Failure(reason: error.reason)
        }
    }

    private static func memory(
        of device: UnsafeMutablePointer<AVBufferRef>, _ format: AVPixelFormat, _ software: AVPixelFormat,
        _ size: PixelSize, _ name: String
    ) throws(HardwareDevice.Failure) -> UnsafeMutablePointer<AVBufferRef> {
        guard let frames = av_hwframe_ctx_alloc(device) else {
            throw HardwareDevice.Failure(reason: "there is not enough memory")
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
            throw HardwareDevice.Failure(reason: "\(name) gives no picture memory (\(LibAV.message(initialised)))")
        }
        return frames
    }

    /// The device format and kind that `codec` requires, if pictures can be uploaded to it.
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
            throw .encodingFailed(reason: "a picture can't be handed to the device (\(LibAV.message(result)))")
        }
    }
}
