import CAVCodec
import CLateLibraries

/// What all users of the libav libraries share.
package enum LibAV {
    /// Why what encodes and decodes can't be used, as a sentence goes on; nil: it can. Loads it, which takes a while the
    /// first time. To be asked before anything of it is called.
    package static var codecProblem: String? { problem(beam_load_libavutil) ?? problem(beam_load_libavcodec) }

    /// The same of what reads and writes files.
    package static var formatProblem: String? { codecProblem ?? problem(beam_load_libavformat) }

    private static func problem(_ load: () -> UnsafePointer<CChar>?) -> String? { load().map { String(cString: $0) } }

    /// Keeps the libraries from writing to standard error by themselves: what they report comes back as errors.
    package static let quietened: Void = av_log_set_level(AV_LOG_QUIET)

    /// The library's words for an error code, as they go on inside a sentence.
    package static func message(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard av_strerror(code, &text, text.count) >= 0 else { return "error \(code)" }
        return words(text)
    }

    /// "no space left on device", but "I/O error".
    package static func words(_ text: [CChar]) -> String {
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard words.dropFirst().first?.isLowercase == true else { return words }
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
