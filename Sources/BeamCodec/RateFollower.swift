import BeamMedia

/// Keeps an encoder's bit rate true to the clock though pictures come as the screen changes, not at a fixed rate.
///
/// libx264's buffer model refills by a fixed amount each picture. At half the pictures a second the stream would get half the
/// bits; here each picture's amount follows the time that really passed, smoothed, so that the sum over time is right.
struct RateFollower {
    /// How much of the rate a burst may use at once, in seconds: the size of the encoder's buffer.
    static let bufferSeconds = 0.5

    /// Bits a second.
    var bitRate: Int
    /// What the encoder was opened with.
    private let frameRate: Double
    /// Seconds from picture to picture.
    private var interval: Double
    private var last: MediaTime?
    private var applied: (bitRate: Int, interval: Double)

    init(bitRate: Int, frameRate: Double) {
        self.bitRate = bitRate
        self.frameRate = frameRate
        interval = 1 / frameRate
        applied = (bitRate, 1 / frameRate)
    }

    mutating func picture(at time: MediaTime) {
        defer { last = time }
        guard let last else { return }
        // Beyond the buffer's length a pause wins nothing more.
        let passed = min(Self.bufferSeconds, max(0, (time - last).inSeconds))
        interval += (passed - interval) / 4
    }

    /// Tells the encoder, if it has grown apart from what it was told.
    mutating func apply(to encoder: OpenedEncoder) {
        let ratio = interval / applied.interval
        guard bitRate != applied.bitRate || ratio > 1.1 || ratio < 0.9 else { return }
        applied = (bitRate, max(interval, 0.001))
        let scale = min(frameRate * Self.bufferSeconds, applied.interval * frameRate)
        encoder.setBitRate(bitRate, nominal: max(1000, Int(Double(bitRate) * scale)))
    }
}
