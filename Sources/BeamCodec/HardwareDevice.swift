import BeamLibAV
import BeamMedia
import CAVCodec
import Foundation

/// Owns an open VA-API device.
final class HardwareDevice {
    let path: String
    let reference: UnsafeMutablePointer<AVBufferRef>

    /// Why a device cannot be opened.
    struct Failure: Error {
        let reason: String
    }

    init(path: String) throws(Failure) {
        _ = LibAV.quietened
        try Self.check(path)
        // Without this libavutil would also try the path as the name of an X display.
        let options = Options(["connection_type": "drm"])
        var device: UnsafeMutablePointer<AVBufferRef>?
        let result = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, path, options.dictionary, 0)
        guard result >= 0, let device else {
            throw Failure(
                reason: "\(path) doesn't open for VA-API (\(LibAV.message(result))): its driver may be missing")
        }
        self.path = path
        reference = device
    }

    deinit {
        var reference: UnsafeMutablePointer<AVBufferRef>? = reference
        av_buffer_unref(&reference)
    }

    /// Makes `context`, which isn't open yet, decode on this device. What the device can't decode is decoded by the
    /// processor.
    func install(in context: UnsafeMutablePointer<AVCodecContext>) {
        context.pointee.hw_device_ctx = av_buffer_ref(reference)
        context.pointee.get_format = { context, formats in
            var next = formats
            while let format = next?.pointee, format != AV_PIX_FMT_NONE {
                if format == AV_PIX_FMT_VAAPI { return format }
                next = next?.advanced(by: 1)
            }
            return avcodec_default_get_format(context, formats)
        }
    }

    /// Checks the path first, because libavutil would only report an unknown error.
    private static func check(_ path: String) throws(Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw Failure(reason: errno == ENOENT ? "there is no \(path)" : "\(path): \(words(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFCHR else { throw Failure(reason: "\(path) is not a device") }
        guard access(path, R_OK | W_OK) == 0 else {
            throw Failure(
                reason: "\(path) may not be opened (\(words(errno))); members of the group “render” usually may")
        }
    }

    private static func words(_ code: CInt) -> String { LibAV.message(-code) }
}
