import BeamLibAV
import BeamMedia
import BeamPixels
import CAVCodec

/// H.264 on a device, through VA-API. Pictures are copied into main memory, which is reused.
///
/// A device conceals damage inside a slice without reporting it, as do libavcodec's slice threads: use it for streams
/// whose frames arrive complete or not at all. Missing frames, truncated units and broken headers are detected as with
/// any decoder.
final class HardwareDecoder: FrameDecoder {
    let name: String
    private let device: HardwareDevice
    private let opened: OpenedDecoder
    private let decoded: FrameHandle
    private let download: PictureDownload

    static func name(path: String) -> String { "vaapi:\(path)" }

    /// Opens the device at `path`; nil: the first one that opens.
    ///
    /// - Throws: `hardwareDecoderDoesNotStart`, with the reason of each device.
    convenience init(path: String?) throws(CodecError) {
        guard Self.isBuiltIn else {
            throw .hardwareDecoderDoesNotStart(
                reason: "libavcodec was built without VA-API", working: [SoftwareDecoder.standardName])
        }
        let paths = path.map { [$0] } ?? RenderDevices.paths()
        var reasons: [String] = []
        for path in paths {
            do throws(HardwareDevice.Failure) {
                try self.init(try HardwareDevice(path: path))
                return
            } catch {
                reasons.append(error.reason)
            }
        }
        throw .hardwareDecoderDoesNotStart(
            reason: reasons.isEmpty
                ? "there is no graphics device (\(RenderDevices.standardDirectory)/renderD…)"
                : reasons.joined(separator: "; "),
            working: RenderDevices.workingDecoders())
    }

    init(_ device: HardwareDevice) throws(HardwareDevice.Failure) {
        guard let opened = try? OpenedDecoder(threads: 1, device: device), let decoded = FrameHandle(),
            let download = PictureDownload()
        else { throw HardwareDevice.Failure(reason: "libavcodec doesn't decode on \(device.path)") }
        name = Self.name(path: device.path)
        self.device = device
        self.opened = opened
        self.decoded = decoded
        self.download = download
    }

    func decode(_ packet: PacketHandle, into frame: FrameHandle) throws(FrameDecoderError) -> Bool {
        av_frame_unref(decoded.pointer)
        guard try opened.decode(packet, into: decoded) else { return false }
        // Frees the picture's surface on the device once it has been copied.
        defer { av_frame_unref(decoded.pointer) }
        guard AVPixelFormat(decoded.pointer.pointee.format) == AV_PIX_FMT_VAAPI else {
            throw .deviceFailed(reason: "\(device.path) doesn't decode this kind of H.264")
        }
        try download.fetch(decoded, into: frame)
        return true
    }

    func flush() {
        av_frame_unref(decoded.pointer)
        opened.flush()
    }

    /// Whether this libavcodec can decode H.264 through VA-API at all.
    private static var isBuiltIn: Bool {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_H264) else { return false }
        var index: CInt = 0
        while let config = avcodec_get_hw_config(codec, index) {
            let hasDevice = config.pointee.methods & CInt(AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0
            if hasDevice, config.pointee.device_type == AV_HWDEVICE_TYPE_VAAPI { return true }
            index += 1
        }
        return false
    }
}

/// Copies pictures from a device's memory (NV12) to i420 in main memory. Luma is copied once.
final class PictureDownload {
    private let staging: FrameHandle
    private let pool = PixelBufferPool()
    /// Scratch memory for the interleaved chroma.
    private var chroma: PixelBuffer?

    /// Nil when there is no memory.
    init?() {
        guard let staging = FrameHandle() else { return nil }
        self.staging = staging
    }

    /// Copies `surface`'s picture to `frame`, with its colour description.
    func fetch(_ surface: FrameHandle, into frame: FrameHandle) throws(FrameDecoderError) {
        let fields = surface.pointer.pointee
        guard fields.crop_left == 0, fields.crop_top == 0 else {
            throw .deviceFailed(reason: "it can't cut pictures at the left or the top")
        }
        let size = PixelSize(width: Int(fields.width), height: Int(fields.height))
        guard LibAV.isSupported(size) else { throw .damaged(reason: "its size is \(size)") }
        let buffer = pool.buffer(format: .i420, size: size)
        let chroma = interleavedChroma(for: size)
        let planes = [buffer.planes[0], chroma.planes[0]]
        guard staging.lend(buffer, format: AV_PIX_FMT_NV12, size: size, planes: planes) else {
            throw .deviceFailed(reason: "there is not enough memory")
        }
        defer { av_frame_unref(staging.pointer) }
        let result = Self.transfer(surface, into: staging)
        guard result >= 0 else {
            throw .deviceFailed(reason: "a picture can't be fetched from it (\(LibAV.message(result)))")
        }
        PixelConversion.separateChroma(chroma.planes[0], into: buffer)
        guard frame.lend(buffer, format: AV_PIX_FMT_YUV420P, size: size) else {
            throw .deviceFailed(reason: "there is not enough memory")
        }
        frame.pointer.pointee.colorspace = fields.colorspace
        frame.pointer.pointee.color_range = fields.color_range
    }

    /// Copies from the device, or in tests from a frame in main memory.
    private static func transfer(_ surface: FrameHandle, into frame: FrameHandle) -> CInt {
        surface.pointer.pointee.hw_frames_ctx != nil
            ? av_hwframe_transfer_data(frame.pointer, surface.pointer, 0)
            : av_frame_copy(frame.pointer, surface.pointer)
    }

    /// Room for ⌈width/2⌉ chroma pairs in ⌈height/2⌉ rows. Only the number of bytes matters: one bgrx pixel holds two
    /// pairs.
    private func interleavedChroma(for size: PixelSize) -> PixelBuffer {
        let room = PixelSize(width: ((size.width + 1) / 2 + 1) / 2, height: (size.height + 1) / 2)
        if let chroma, chroma.size == room { return chroma }
        let fresh = PixelBuffer(format: .bgrx, size: room)
        chroma = fresh
        return fresh
    }
}
