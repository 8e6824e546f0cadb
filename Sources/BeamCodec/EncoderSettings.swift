import BeamMedia

/// The chroma format of the coded stream.
public enum ChromaFormat: String, Hashable, Sendable, CaseIterable {
    /// 4:2:0: one sample of each chroma component for 2 × 2 pixels. Every viewer can decode it.
    case subsampled = "420"
    /// 4:4:4: one for each pixel, which keeps thin coloured text sharp (High 4:4:4 Predictive profile, H.264 clause
    /// A.2.7).
    case full = "444"

    /// The format of the encoder's input.
    public var pixelFormat: PixelFormat { self == .full ? .i444 : .i420 }
}

/// A `VideoEncoder`'s settings.
public struct EncoderSettings: Hashable, Sendable {
    /// The name of one of libavcodec's H.264 encoders; nil: the fastest on this machine, libx264 or a device's.
    public var name: String?
    /// The pictures' size; may be odd.
    public var size: PixelSize
    /// The most pictures a second.
    public var frameRate: Double
    /// The most bits a second.
    public var bitRate: Int
    public var chroma: ChromaFormat

    /// `bitRate` nil: the default for the size and frame rate.
    public init(
        name: String? = nil, size: PixelSize, frameRate: Double, bitRate: Int? = nil, chroma: ChromaFormat = .subsampled
    ) {
        self.name = name
        self.size = size
        self.frameRate = frameRate
        self.chroma = chroma
        self.bitRate = bitRate ?? Self.defaultBitRate(size: size, frameRate: frameRate)
    }

    /// The default rate limit for a local network in bits a second, between 1 and 80 Mbit/s: in proportion to the
    /// picture's area and the square root of the frame rate, with 20 Mbit/s for 1920 × 1080 at 60 frames a second.
    ///
    /// Content that changes little uses far less.
    public static func defaultBitRate(size: PixelSize, frameRate: Double) -> Int {
        let reference = 20e6 / (1920 * 1080 * 60.0.squareRoot())
        let rate = reference * Double(size.area) * max(1, frameRate).squareRoot()
        return Int(min(80e6, max(1e6, rate)).rounded())
    }

    /// The frame rate clamped to 1…1000, for rate control.
    var boundedFrameRate: Double { frameRate.isFinite ? min(1000, max(1, frameRate)) : 60 }

    var boundedBitRate: Int { Self.bounded(bitRate) }

    static func bounded(_ bitRate: Int) -> Int { min(500_000_000, max(50_000, bitRate)) }
}
