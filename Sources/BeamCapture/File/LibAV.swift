import BeamMedia
import CAVCodec

/// What all users of the libav libraries share.
enum LibAV {
    /// Keeps the libraries from writing to standard error by themselves: what they report comes back as errors.
    static let quietened: Void = av_log_set_level(AV_LOG_QUIET)

    /// The library's words for an error code, as they go on inside a sentence.
    static func message(_ code: CInt) -> String {
        if code == beam_averror_invaliddata { return "it is damaged, or its format isn't one that is known here" }
        var text = [CChar](repeating: 0, count: 256)
        guard av_strerror(code, &text, text.count) >= 0 else { return "error \(code)" }
        return words(text)
    }

    /// "no space left on device", but "I/O error".
    static func words(_ text: [CChar]) -> String {
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard words.dropFirst().first?.isLowercase == true else { return words }
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// The one owner of an `AVFrame`.
final class FrameHandle {
    let pointer: UnsafeMutablePointer<AVFrame>

    /// Nil when there is no memory.
    init?() {
        guard let pointer = av_frame_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }
}

/// The one owner of an `AVPacket`.
final class PacketHandle {
    let pointer: UnsafeMutablePointer<AVPacket>

    /// Nil when there is no memory.
    init?() {
        guard let pointer = av_packet_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }
}

/// The one owner of an `AVCodecContext`.
final class DecoderHandle {
    let pointer: UnsafeMutablePointer<AVCodecContext>

    /// Nil when there is no memory.
    init?(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecContext>? = pointer
        avcodec_free_context(&pointer)
    }
}

/// The one owner of an `AVFormatContext` that reads a file.
final class InputHandle {
    let pointer: UnsafeMutablePointer<AVFormatContext>
    /// Asked by the library, during long work, whether to give up. Held because the library knows only its address.
    private let control: SourceControl

    /// Opens a local file, and never anything that it may refer to over a network.
    ///
    /// - Throws: `unreadableFile`.
    init(path: String, control: SourceControl) throws(CaptureError) {
        guard let context = avformat_alloc_context() else {
            throw .unreadableFile(path: path, reason: "there is not enough memory")
        }
        context.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { control in
                guard let control else { return 0 }
                return Unmanaged<SourceControl>.fromOpaque(control).takeUnretainedValue().isStopped ? 1 : 0
            }, opaque: Unmanaged.passUnretained(control).toOpaque())
        var options: OpaquePointer?
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        defer { av_dict_free(&options) }
        // The prefix keeps a colon in a file's name from being taken for a protocol. On failure the library frees the
        // context.
        var opened: UnsafeMutablePointer<AVFormatContext>? = context
        let result = avformat_open_input(&opened, "file:" + path, nil, &options)
        guard result >= 0, let opened else {
            throw .unreadableFile(path: path, reason: LibAV.message(result))
        }
        pointer = opened
        self.control = control
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFormatContext>? = pointer
        avformat_close_input(&pointer)
    }
}
