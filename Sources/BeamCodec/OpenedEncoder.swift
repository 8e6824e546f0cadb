import BeamLibAV
import BeamMedia
import CAVCodec

/// An encoder of libavcodec, opened with options for screen streams.
final class OpenedEncoder {
    let name: String
    let context: CodecHandle
    /// The encoder's input format: planar or semi-planar 4:2:0, in main memory or, after an upload, in the device's.
    let softwareFormat: AVPixelFormat
    let device: EncoderDevice?
    /// The rate set last.
    private(set) var rate: (bitRate: Int, regime: RateRegime)

    /// libx264, which is used directly (`X264Encoder`) and not through libavcodec.
    static let standardName = X264Encoder.standardName

    convenience init(_ settings: EncoderSettings, _ regime: RateRegime = .optionBound) throws(CodecError) {
        let name = settings.name ?? Self.standardName
        if let reason = LibAV.codecProblem {
            throw .encoderDoesNotStart(name: name, size: settings.size, reason: reason, working: [])
        }
        _ = LibAV.quietened
        guard let codec = avcodec_find_encoder_by_name(name) else {
            throw .unknownEncoder(name: name, working: VideoEncoder.workingEncoders())
        }
        guard codec.pointee.id == AV_CODEC_ID_H264, let format = InputFormat(codec) else {
            throw .notAnH264Encoder(name: name, working: VideoEncoder.workingEncoders())
        }
        do {
            try self.init(codec, name: name, format: format, settings, regime)
        } catch {
            throw .encoderDoesNotStart(
                name: name, size: settings.size, reason: error.reason, working: VideoEncoder.workingEncoders())
        }
    }

    /// Why an encoder could not be opened.
    struct Failure: Error {
        let reason: String
    }

    /// An encoder's input format.
    struct InputFormat {
        let software: AVPixelFormat
        /// The device's format and kind, for an encoder that doesn't take main memory.
        let hardware: (format: AVPixelFormat, kind: AVHWDeviceType)?

        /// Nil for an encoder without 8-bit 4:2:0 input.
        init?(_ codec: UnsafePointer<AVCodec>) {
            let formats = Self.formats(codec)
            // An encoder that doesn't list its formats (one that asks its device first) gets the usual one.
            if formats.isEmpty || formats.contains(AV_PIX_FMT_YUV420P) {
                (software, hardware) = (AV_PIX_FMT_YUV420P, nil)
            } else if formats.contains(AV_PIX_FMT_NV12) {
                (software, hardware) = (AV_PIX_FMT_NV12, nil)
            } else if let device = EncoderDevice.kind(codec, formats: formats) {
                (software, hardware) = (AV_PIX_FMT_NV12, device)
            } else {
                return nil
            }
        }

        private static func formats(_ codec: UnsafePointer<AVCodec>) -> [AVPixelFormat] {
            guard var next = codec.pointee.pix_fmts else { return [] }
            var formats: [AVPixelFormat] = []
            while next.pointee != AV_PIX_FMT_NONE {
                formats.append(next.pointee)
                next += 1
            }
            return formats
        }
    }

    init(
        _ codec: UnsafePointer<AVCodec>, name: String, format: InputFormat, _ settings: EncoderSettings,
        _ regime: RateRegime = .optionBound
    ) throws(Failure) {
        guard let context = CodecHandle(codec) else { throw Failure(reason: "there is not enough memory") }
        self.name = name
        self.context = context
        softwareFormat = format.software
        let coded = settings.size.codedSize
        if let hardware = format.hardware {
            device = try EncoderDevice(
                kind: hardware.kind, format: hardware.format, software: format.software, size: coded)
        } else {
            device = nil
        }
        Self.describe(context.pointer, coded: coded, settings)
        context.pointer.pointee.pix_fmt = format.hardware?.format ?? format.software
        if let frames = device?.frames {
            context.pointer.pointee.hw_frames_ctx = av_buffer_ref(frames)
        }
        rate = (settings.boundedBitRate, regime)
        setRate(rate.bitRate, rate.regime)
        var options = Self.options(name)
        let result = avcodec_open2(context.pointer, codec, &options.dictionary)
        guard result >= 0 else { throw Failure(reason: LibAV.message(result)) }
    }

    /// Sets what all encoders have in common.
    private static func describe(
        _ context: UnsafeMutablePointer<AVCodecContext>, coded: PixelSize, _ settings: EncoderSettings
    ) {
        context.pointee.width = CInt(coded.width)
        context.pointee.height = CInt(coded.height)
        context.pointee.time_base = AVRational(num: 1, den: 90_000)
        context.pointee.framerate = av_d2q(settings.boundedFrameRate, 100_000)
        context.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
        context.pointee.profile = FF_PROFILE_H264_MAIN
        context.pointee.max_b_frames = 0
        context.pointee.gop_size = Self.longestGroup
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        context.pointee.thread_count = LibAV.sliceThreads
        context.pointee.thread_type = FF_THREAD_SLICE
        context.pointee.colorspace = ColourDescription.bt709Limited.space
        context.pointee.color_primaries = AVCOL_PRI_BT709
        context.pointee.color_trc = AVCOL_TRC_BT709
        context.pointee.color_range = AVCOL_RANGE_MPEG
        context.pointee.chroma_sample_location = AVCHROMA_LOC_CENTER
    }

    /// Frames between keyframes that nobody requests: hours.
    private static let longestGroup: CInt = 1 << 20

    /// The options of particular encoders, by libavcodec's names.
    private static func options(_ name: String) -> Options {
        switch name {
        case "h264_nvenc":
            Options(["preset": "p2", "tune": "ull", "zerolatency": "1", "delay": "0", "forced-idr": "1"])
        case "h264_vaapi": Options(["async_depth": "1"])
        case "h264_qsv": Options(["async_depth": "1", "forced_idr": "1", "preset": "veryfast"])
        // The same as `X264Handle`: no delay.
        case "libx264": Options(["preset": "ultrafast", "tune": "zerolatency"])
        case "libopenh264": Options(["allow_skip_frames": "0"])
        default: Options([:])
        }
    }

    /// Limits the rate to `bitRate` bits a second, averaged over half a second, so that a good keyframe fits; if the
    /// path limits the rate, over the time that a keyframe may take there.
    func setRate(_ bitRate: Int, _ regime: RateRegime) {
        rate = (bitRate, regime)
        let fields = context.pointer
        fields.pointee.bit_rate = Int64(bitRate)
        fields.pointee.rc_max_rate = Int64(bitRate)
        fields.pointee.rc_buffer_size = CInt(clamping: Int(Double(bitRate) * (regime == .optionBound ? 0.5 : 0.25)))
    }

    /// The parameter sets from the encoder's extradata; nil if it has none.
    var headerParameterSets: ParameterSets? {
        guard let extradata = context.pointer.pointee.extradata, context.pointer.pointee.extradata_size > 0 else {
            return nil
        }
        let bytes = UnsafeBufferPointer(start: extradata, count: Int(context.pointer.pointee.extradata_size))
        let sets = NALUnits.sorted(annexB: bytes).parameterSets
        return sets.sps.isEmpty || sets.pps.isEmpty ? nil : sets
    }
}
