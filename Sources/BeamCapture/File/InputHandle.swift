import BeamLibAV
import BeamMedia
import CAVCodec

/// Owns an `AVFormatContext` that reads a file.
final class InputHandle {
    let pointer: UnsafeMutablePointer<AVFormatContext>
    /// libavformat's interrupt callback asks it during long work. The library holds only its address, so it is retained
    /// here.
    private let control: SourceControl

    /// Opens a local file. The protocol whitelist keeps the file from referring to anything on a network.
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
        // The "file:" prefix keeps a colon in the name from being read as a protocol. On failure the library frees the
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
            ? "it is damaged, or in a format that BeamRoom can't read" : LibAV.message(result)
    }
}
