import BeamLibAV
import BeamMedia
import CAVCodec

/// An open decoder: coded frames in, samples in main memory out. Used by one thread.
protocol FrameDecoder: AnyObject {
    /// Its name: `software`, `vaapi:/dev/dri/renderD128`.
    var name: String { get }
    /// Decodes the packet into `frame`, in main memory. Returns false if the stream requires a delay.
    func decode(_ packet: PacketHandle, into frame: FrameHandle) throws(FrameDecoderError) -> Bool
    /// Resets the decoder: a keyframe comes next.
    func flush()
}

/// Why a frame could not be decoded.
enum FrameDecoderError: Error {
    /// The frame is the reason.
    case damaged(reason: String)
    /// The device is the reason: another decoder may succeed.
    case deviceFailed(reason: String)
}

/// libavcodec's H.264 decoder, open, on the processor or on a device.
final class OpenedDecoder {
    let context: CodecHandle
    /// The most pictures that a stream may delay.
    private static let mostHeldBack: CInt = 4

    /// - Throws: `decoderDoesNotStart`.
    init(threads: Int, device: HardwareDevice? = nil) throws(CodecError) {
        if let reason = LibAV.codecProblem { throw .decoderDoesNotStart(reason: reason) }
        _ = LibAV.quietened
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_H264) else {
            throw .decoderDoesNotStart(reason: "libavcodec has none")
        }
        guard let context = CodecHandle(codec) else {
            throw .decoderDoesNotStart(reason: "there is not enough memory")
        }
        let fields = context.pointer
        fields.pointee.thread_count = CInt(threads)
        fields.pointee.thread_type = FF_THREAD_SLICE
        fields.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        // Damage is an error: no concealment.
        fields.pointee.err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_CRCCHECK
        fields.pointee.max_pixels = Int64(PictureBounds.possible.area)
        device?.install(in: fields)
        let result = avcodec_open2(fields, codec, nil)
        guard result >= 0 else { throw .decoderDoesNotStart(reason: LibAV.message(result)) }
        self.context = context
    }

    func decode(_ packet: PacketHandle, into frame: FrameHandle) throws(FrameDecoderError) -> Bool {
        let sent = avcodec_send_packet(context.pointer, packet.pointer)
        guard sent >= 0 else { throw Self.error(sent) }
        // libavcodec can raise the stream's delay above what its parameter sets say, and holds each delayed picture in
        // memory.
        guard context.pointer.pointee.has_b_frames <= Self.mostHeldBack else {
            throw .damaged(reason: "it holds too many pictures back")
        }
        let received = avcodec_receive_frame(context.pointer, frame.pointer)
        if received == beam_averror_eagain {
            guard context.pointer.pointee.has_b_frames > 0 else { throw .damaged(reason: "no picture comes of it") }
            return false
        }
        guard received >= 0 else { throw Self.error(received) }
        let decoded = frame.pointer.pointee
        guard decoded.decode_error_flags == 0, decoded.flags & AV_FRAME_FLAG_CORRUPT == 0 else {
            throw .damaged(reason: "parts of it are missing or refer to missing pictures")
        }
        return true
    }

    func flush() {
        avcodec_flush_buffers(context.pointer)
        // libavcodec never lowers the delay by itself, and would keep it for the next stream.
        context.pointer.pointee.has_b_frames = 0
    }

    /// `SoftwareDecoder` turns the second kind into the first: on the processor all errors are the stream's.
    private static func error(_ code: CInt) -> FrameDecoderError {
        code == beam_averror_invaliddata
            ? .damaged(reason: LibAV.message(code)) : .deviceFailed(reason: LibAV.message(code))
    }
}

/// H.264 on the processor.
final class SoftwareDecoder: FrameDecoder {
    static let standardName = "software"

    let name = SoftwareDecoder.standardName
    private let opened: OpenedDecoder

    init(threads: Int) throws(CodecError) {
        opened = try OpenedDecoder(threads: threads)
    }

    func decode(_ packet: PacketHandle, into frame: FrameHandle) throws(FrameDecoderError) -> Bool {
        do {
            return try opened.decode(packet, into: frame)
        } catch .deviceFailed(let reason) {
            throw .damaged(reason: reason)
        } catch {
            throw error
        }
    }

    func flush() { opened.flush() }
}
