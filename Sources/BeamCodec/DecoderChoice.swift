/// Which decoder to use.
public enum DecoderChoice: Hashable, Sendable {
    /// A device for large pictures if there is one, else the processor.
    case automatic
    /// The software decoder.
    case software
    /// VA-API on this device (`/dev/dri/renderD128`), or on the first that opens.
    case vaapi(device: String?)

    /// The longest path of a device in bytes.
    private static let longestPath = 4096

    /// From the command line: `auto`, `software`, `vaapi`, `vaapi:/dev/dri/renderD128`.
    ///
    /// - Throws: `unknownDecoder`, with those that work here.
    public init(parsing text: String) throws(CodecError) {
        switch text {
        case "auto": self = .automatic
        case "software": self = .software
        case "vaapi": self = .vaapi(device: nil)
        default:
            guard let colon = text.firstIndex(of: ":"), text[..<colon] == "vaapi" else {
                throw .unknownDecoder(name: text, working: RenderDevices.workingDecoders())
            }
            let path = text[text.index(after: colon)...]
            guard path.hasPrefix("/"), path.utf8.count <= Self.longestPath, !path.utf8.contains(0) else {
                throw .unknownDecoder(name: text, working: RenderDevices.workingDecoders())
            }
            self = .vaapi(device: String(path))
        }
    }
}

/// The decoders that a `VideoDecoder` may use, and when.
///
/// Decoding on a device has a fixed delay, and each picture has to be copied from its memory. For what screens are sent
/// as (no B-frames, CAVLC) the processor is faster: 1.1 to 2.1 ms for 1920 × 1080. Its time grows with the area, and
/// above about 2560 × 1440 it limits the stream's frame rate.
struct DecoderOpeners: Sendable {
    /// Pictures with more pixels than this are decoded on a device by default.
    static let largestSoftwareArea = 2560 * 1440

    /// Opens the software decoder.
    var software: @Sendable (_ threads: Int) throws(CodecError) -> any FrameDecoder
    /// Opens the device at a path, or the first one that opens.
    var hardware: @Sendable (_ path: String?) throws(CodecError) -> any FrameDecoder

    /// libavcodec's decoders.
    static let libAV = DecoderOpeners(
        software: { threads throws(CodecError) in try SoftwareDecoder(threads: threads) },
        hardware: { path throws(CodecError) in try HardwareDecoder(path: path) })
}
