import BeamLibAV
import BeamMedia
import CAVCodec

/// Pictures from H.264, through libavcodec: each access unit's picture at once, and never a broken one.
///
/// After damage nothing is shown before the next keyframe. Used by one thread.
public final class VideoDecoder {
    private let context: CodecHandle
    private let frame: FrameHandle
    private let input: DecoderInput
    private let output = DecodedPictures()
    private var numbers = FrameNumbers()
    /// Pictures cannot be built on what came before.
    private var needsKeyframe = true

    /// `threads` share the slices of a frame; nil is one.
    ///
    /// One thread checks every slice to its end, and that all are there. With more, libavcodec reports no damage inside a slice:
    /// they are for streams whose bytes are authenticated, and win 0.1 to 0.7 ms of 1 to 3 in a 1080p picture.
    ///
    /// - Throws: `decoderDoesNotStart`.
    public init(threads: Int? = nil) throws(CodecError) {
        _ = LibAV.quietened
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_H264) else {
            throw .decoderDoesNotStart(reason: "libavcodec has none")
        }
        guard let context = CodecHandle(codec), let frame = FrameHandle(), let input = DecoderInput() else {
            throw .decoderDoesNotStart(reason: "there is not enough memory")
        }
        let fields = context.pointer
        fields.pointee.thread_count = CInt(max(1, min(16, threads ?? 1)))
        fields.pointee.thread_type = FF_THREAD_SLICE
        fields.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        // Damage is an error, not something to paint over.
        fields.pointee.err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_CRCCHECK
        fields.pointee.max_pixels = LibAV.mostPixels
        let result = avcodec_open2(fields, codec, nil)
        guard result >= 0 else { throw .decoderDoesNotStart(reason: LibAV.message(result)) }
        self.context = context
        self.frame = frame
        self.input = input
    }

    /// Decodes `unit`. The picture refers to the decoder's own memory, without a copy, in the size that the unit says where the
    /// coded one is at most a row and a column larger, else in the coded size.
    ///
    /// Returns nil when the stream itself asks for a delay.
    ///
    /// - Throws: `keyframeNeeded` for a frame that nothing can be built on; `damagedFrame`, after which the next keyframe is
    ///   needed; `unsupportedStream`.
    public func decode(_ unit: AccessUnit) throws(CodecError) -> Picture? {
        guard unit.isKeyframe || !needsKeyframe else { throw .keyframeNeeded }
        do {
            needsKeyframe = true
            try input.fill(unit)
            try checkNumber(unit)
            let picture = try decodeInput(unit)
            needsKeyframe = false
            return picture
        } catch {
            flush()
            throw error
        }
    }

    /// Refuses a frame before which another one is missing. The framing has been checked already.
    private func checkNumber(_ unit: AccessUnit) throws(CodecError) {
        if let sets = unit.parameterSets { numbers.take(sets) }
        guard let slice = NALUnits.firstPicture(avcc: unit.avcc) else {
            throw .damagedFrame(reason: "there is no picture in it")
        }
        guard numbers.follows(slice) else { throw .damagedFrame(reason: "the frame before it is missing") }
    }

    /// Forgets everything: the next unit has to be a keyframe.
    public func flush() {
        avcodec_flush_buffers(context.pointer)
        // libavcodec only ever raises the delay that a stream asked for, and keeps it for the next one.
        context.pointer.pointee.has_b_frames = 0
        av_frame_unref(frame.pointer)
        numbers.reset()
        needsKeyframe = true
    }

    private func decodeInput(_ unit: AccessUnit) throws(CodecError) -> Picture? {
        input.packet.pointer.pointee.flags = unit.isKeyframe ? AV_PKT_FLAG_KEY : 0
        let sent = avcodec_send_packet(context.pointer, input.packet.pointer)
        guard sent >= 0 else { throw .damagedFrame(reason: LibAV.message(sent)) }
        let received = avcodec_receive_frame(context.pointer, frame.pointer)
        if received == beam_averror_eagain {
            guard context.pointer.pointee.has_b_frames > 0 else {
                throw .damagedFrame(reason: "no picture comes of it")
            }
            return nil
        }
        guard received >= 0 else { throw .damagedFrame(reason: LibAV.message(received)) }
        let decoded = frame.pointer.pointee
        guard decoded.decode_error_flags == 0, decoded.flags & AV_FRAME_FLAG_CORRUPT == 0 else {
            throw .damagedFrame(reason: "parts of it are missing or refer to missing pictures")
        }
        return try output.picture(takingFrom: frame, unit)
    }
}
