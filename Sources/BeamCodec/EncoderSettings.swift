import BeamMedia

/// How much of the colour is coded.
public enum ChromaFormat: String, Hashable, Sendable, CaseIterable {
    /// 4:2:0: one sample of each colour difference for 2 × 2 pixels. Every viewer can decode it.
    case subsampled = "420"
    /// 4:4:4: one for each pixel, so that thin coloured text stays as it is (High 4:4:4 Predictive profile, H.264 clause A.2.7).
    case full = "444"

    /// What the encoder takes.
    public var pixelFormat: PixelFormat { self == .full ? .i444 : .i420 }
}

/// What a `VideoEncoder` is asked for.
public struct EncoderSettings: Hashable, Sendable {
    /// The name of one of libavcodec's H.264 encoders; nil is what does best on this machine: libx264, or a device's.
    public var name: String?
    /// The pictures' size, odd ones included.
    public var size: PixelSize
    /// How many pictures a second come at most.
    public var frameRate: Double
    /// Bits a second at that rate, at most.
    public var bitRate: Int
    public var chroma: ChromaFormat

    /// `bitRate` nil takes the default for the size and rate.
    public init(
        name: String? = nil, size: PixelSize, frameRate: Double, bitRate: Int? = nil, chroma: ChromaFormat = .subsampled
    ) {
        self.name = name
        self.size = size
        self.frameRate = frameRate
        self.chroma = chroma
        self.bitRate = bitRate ?? Self.defaultBitRate(size: size, frameRate: frameRate)
    }

    /// A sensible upper bound in bits a second for a local network, between 1 and 80 Mbit/s: in proportion to the picture's
    /// area and to the square root of the rate, with 20 Mbit/s for 1920 × 1080 at 60 frames a second.
    ///
    /// It is a bound, not an aim: what changes little costs little.
    public static func defaultBitRate(size: PixelSize, frameRate: Double) -> Int {
        let reference = 20e6 / (1920 * 1080 * 60.0.squareRoot())
        let rate = reference * Double(size.area) * max(1, frameRate).squareRoot()
        return Int(min(80e6, max(1e6, rate)).rounded())
    }

    /// The rate with its least and greatest values: a rate control needs some sense in its figures.
    var boundedFrameRate: Double { frameRate.isFinite ? min(1000, max(1, frameRate)) : 60 }

    var boundedBitRate: Int { Self.bounded(bitRate) }

    static func bounded(_ bitRate: Int) -> Int { min(500_000_000, max(50_000, bitRate)) }
}
