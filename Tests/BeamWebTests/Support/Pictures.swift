import BeamCapture
import BeamCodec
import BeamMedia

/// The test pattern, as the real encoder codes it.
final class CodedPictures {
    private let renderer: PatternRenderer
    private let encoder: VideoEncoder
    private let converter: PictureConverter
    private var number = 0

    init(_ size: PixelSize, frameRate: Double = 30, bitRate: Int = 8_000_000, content: PatternContent = .chart) throws {
        renderer = try PatternRenderer(PatternOptions(size: size, frameRate: frameRate, content: content))
        converter = PictureConverter()
        encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: frameRate, bitRate: bitRate))
    }

    /// The next picture; the first one is a keyframe.
    func next(keyframe: Bool = false, time: MediaTime? = nil) throws -> EncodedFrame? {
        let picture = time.map { renderer.picture(number, time: $0) } ?? renderer.picture(number)
        number += 1
        return try encoder.encode(try converter.convert(picture, to: renderer.options.size), keyframe: keyframe)
    }

    func frames(_ count: Int) throws -> [EncodedFrame] { try (0..<count).compactMap { _ in try next() } }
}
