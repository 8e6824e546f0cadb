import BeamLibAV
import BeamMedia
import CAVCodec

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
            throw .unreadableFile(path: path, reason: Self.reason(result))
        }
        pointer = opened
        self.control = control
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFormatContext>? = pointer
        avformat_close_input(&pointer)
    }

    private static func reason(_ result: CInt) -> String {
        result == beam_averror_invaliddata
            ? "it is damaged, or its format isn't one that is known here" : LibAV.message(result)
    }
}
