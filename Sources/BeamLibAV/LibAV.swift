import CAVCodec
import CLateLibraries

/// Helpers for all users of the libav libraries.
package enum LibAV {
    /// Why the codec libraries can't be used, as the end of a sentence; nil if they can. The first call loads them,
    /// which takes a while. Must be called before any of their functions.
    package static var codecProblem: String? { problem(beam_load_libavutil) ?? problem(beam_load_libavcodec) }

    /// The same for the libraries that read and write files.
    package static var formatProblem: String? { codecProblem ?? problem(beam_load_libavformat) }

    /// The same for the libraries that read files and convert sound.
    package static var soundProblem: String? { formatProblem ?? problem(beam_load_libswresample) }

    private static func problem(_ load: () -> UnsafePointer<CChar>?) -> String? { load().map { String(cString: $0) } }

    /// Silences the libraries' own output to standard error. Their errors are returned.
    package static let quietened: Void = av_log_set_level(AV_LOG_QUIET)

    /// The library's message for an error code, to continue a sentence.
    package static func message(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard av_strerror(code, &text, text.count) >= 0 else { return "error \(code)" }
        return words(text)
    }

    /// Lower-cases the first letter unless an acronym starts the text: "no space left on device", but "I/O error".
    package static func words(_ text: [CChar]) -> String {
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard words.dropFirst().first?.isLowercase == true else { return words }
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
