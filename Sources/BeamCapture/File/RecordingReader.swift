import BeamLibAV
import BeamMedia
import CAVCodec
import Glibc

/// Decodes a file's best stream of one kind from beginning to end, in a loop. Used by one thread.
final class RecordingReader {
    enum Kind {
        case video, sound

        var type: AVMediaType { self == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO }
        var name: String { self == .video ? "video" : "sound" }
        /// Why a file without such a stream is refused.
        var absence: String { "there is no \(name) in it" }
    }

    private let path: String
    private let kind: Kind
    private let control: SourceControl
    private let packet: PacketHandle
    private var opened: Opened
    private var isDraining = false
    /// Seeking to the start doesn't return the first picture in this file, so it is reopened instead.
    private var hasToReopen = false
    /// libav's code of the last read error; nil after an ordinary end of file.
    private(set) var failure: CInt?

    /// - Throws: `unreadableFile`.
    init(path: String, kind: Kind = .video, control: SourceControl) throws(CaptureError) {
        if let reason = kind == .sound ? LibAV.soundProblem : LibAV.formatProblem {
            throw .unreadableFile(path: path, reason: reason)
        }
        _ = LibAV.quietened
        guard let packet = PacketHandle() else {
            throw .unreadableFile(path: path, reason: "there is not enough memory")
        }
        self.path = path
        self.kind = kind
        self.control = control
        self.packet = packet
        opened = try Opened(path, kind, control)
    }

    var stream: UnsafeMutablePointer<AVStream> { opened.stream }

    /// The file is a YUV4MPEG2 file.
    var isY4M: Bool {
        guard let name = opened.input.pointer.pointee.iformat?.pointee.name else { return false }
        return String(cString: name) == "yuv4mpegpipe"
    }

    /// Frames per second: the file's average. 25, a common video rate, if the file has none.
    var frameRate: Double {
        for rate in [stream.pointee.avg_frame_rate, stream.pointee.r_frame_rate] where rate.num > 0 && rate.den > 0 {
            return Double(rate.num) / Double(rate.den)
        }
        return 25
    }

    /// A decoded frame's time in nanoseconds on the file's own time base.
    func timestamp(_ frame: FrameHandle) -> Int64? {
        let (stamp, base) = (frame.pointer.pointee.best_effort_timestamp, stream.pointee.time_base)
        guard stamp != beam_av_nopts_value, base.num > 0, base.den > 0 else { return nil }
        return av_rescale_q(stamp, base, AVRational(num: 1, den: 1_000_000_000))
    }

    enum Step { case frame, end, stopped }

    /// Decodes the next frame into `frame`. Packets that can't be decoded are skipped.
    func next(into frame: FrameHandle) -> Step {
        var failuresAtEnd = 0
        while !control.isStopped {
            av_frame_unref(frame.pointer)
            let result = avcodec_receive_frame(opened.decoder.pointer, frame.pointer)
            if result >= 0 { return .frame }
            if result == beam_averror_eof { return .end }
            if isDraining {
                failuresAtEnd += 1
                if result == beam_averror_eagain || failuresAtEnd > 64 { return .end }
            } else {
                feed()
            }
        }
        return .stopped
    }

    /// Hands the next packet to the decoder, or signals the end of the stream to it.
    private func feed() {
        av_packet_unref(packet.pointer)
        let result = av_read_frame(opened.input.pointer, packet.pointer)
        if result < 0 {
            failure = result == beam_averror_eof ? nil : result
            isDraining = true
            avcodec_send_packet(opened.decoder.pointer, nil)
        } else if packet.pointer.pointee.stream_index == opened.stream.pointee.index {
            // A packet that the decoder refuses is damaged. Its picture is missing, and decoding continues.
            avcodec_send_packet(opened.decoder.pointer, packet.pointer)
        }
    }

    /// Returns to the first frame, whose timestamp was `first`, and decodes it into `frame`.
    ///
    /// - Throws: `unreadableFile`, when the file has to be opened again and can't be.
    func rewind(to first: Int64?, into frame: FrameHandle) throws(CaptureError) -> Step {
        if let first, !hasToReopen, seek(to: start) {
            let step = next(into: frame)
            if step == .stopped || step == .frame && timestamp(frame) == first { return step }
        }
        if control.isStopped { return .stopped }
        hasToReopen = true
        opened = try Opened(path, kind, control)
        isDraining = false
        return next(into: frame)
    }

    /// Goes on at the last point at or before `nanoseconds`, on the file's own time base, where decoding can begin.
    /// False if the file can't be searched.
    func seek(toTime nanoseconds: Int64) -> Bool {
        let base = stream.pointee.time_base
        guard base.num > 0, base.den > 0 else { return false }
        return seek(to: av_rescale_q(nanoseconds, AVRational(num: 1, den: 1_000_000_000), base))
    }

    private var start: Int64 {
        let start = stream.pointee.start_time
        return start == beam_av_nopts_value ? 0 : start
    }

    private func seek(to time: Int64) -> Bool {
        let (input, stream) = (opened.input.pointer, opened.stream)
        guard avformat_seek_file(input, stream.pointee.index, .min, time, time, 0) >= 0 else { return false }
        avcodec_flush_buffers(opened.decoder.pointer)
        isDraining = false
        return true
    }

    /// The handles of one opening of the file.
    private struct Opened {
        let input: InputHandle
        /// Belongs to `input`.
        let stream: UnsafeMutablePointer<AVStream>
        let decoder: CodecHandle

        init(_ path: String, _ kind: Kind, _ control: SourceControl) throws(CaptureError) {
            func failure(_ reason: String) -> CaptureError { .unreadableFile(path: path, reason: reason) }
            if let reason = Self.rejectionReason(path) { throw failure(reason) }
            input = try InputHandle(path: path, control: control)
            let found = avformat_find_stream_info(input.pointer, nil)
            guard found >= 0 else { throw failure(LibAV.message(found)) }
            let index = av_find_best_stream(input.pointer, kind.type, -1, -1, nil, 0)
            guard index >= 0, let streams = input.pointer.pointee.streams, let stream = streams[Int(index)],
                let parameters = stream.pointee.codecpar
            else { throw failure(kind.absence) }
            self.stream = stream
            for other in 0..<Int(input.pointer.pointee.nb_streams) where other != Int(index) {
                streams[other]?.pointee.discard = AVDISCARD_ALL
            }
            guard let codec = avcodec_find_decoder(parameters.pointee.codec_id) else {
                let name = String(cString: avcodec_get_name(parameters.pointee.codec_id))
                throw failure("its \(kind.name) is coded as \(name), for which there is no decoder on this machine")
            }
            guard let decoder = CodecHandle(codec) else { throw failure("there is not enough memory") }
            self.decoder = decoder
            let context = decoder.pointer
            switch kind {
            case .video:
                let size = PixelSize(width: Int(parameters.pointee.width), height: Int(parameters.pointee.height))
                if let reason = RecordedPictures.rejectionReason(size), size.area > 0 { throw failure(reason) }
                context.pointee.max_pixels = Int64(RecordedPictures.maxSide * RecordedPictures.maxSide)
                context.pointee.thread_count = CInt(max(1, min(4, av_cpu_count())))
            case .sound:
                context.pointee.max_samples = SoundConverter.mostSamples
                context.pointee.thread_count = 1
            }
            context.pointee.pkt_timebase = stream.pointee.time_base
            var result = avcodec_parameters_to_context(context, parameters)
            if result >= 0 { result = avcodec_open2(context, codec, nil) }
            guard result >= 0 else { throw failure("its decoder doesn't start: \(LibAV.message(result))") }
        }

        /// Why `path` can't be read; nil if no reason is known yet.
        private static func rejectionReason(_ path: String) -> String? {
            var status = Glibc.stat()
            guard stat(path, &status) == 0 else {
                return switch errno {
                case ENOENT, ENOTDIR: "there is no such file"
                case EACCES: "its directory may not be read"
                default: system(errno)
                }
            }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: return "it is a directory"
            case S_IFREG where status.st_size == 0: return "it is empty"
            case S_IFREG: break
            default: return "it is a device or a pipe, not a file that can be read again from its beginning"
            }
            guard access(path, R_OK) == 0 else {
                return errno == EACCES ? "you may not read it" : system(errno)
            }
            return nil
        }

        private static func system(_ code: CInt) -> String {
            var text = [CChar](repeating: 0, count: 256)
            return strerror_r(code, &text, text.count) == 0 ? LibAV.words(text) : "error \(code)"
        }
    }
}
