import BeamMedia

/// When a layer codes its next picture, by how often pictures come and how many of them are wanted.
struct PicturePace: Sendable {
    /// The most pictures a second, by the options.
    private let frameRate: Double
    /// Seconds between the source's pictures, a moving average.
    private(set) var sourceInterval: Double
    /// When the source's last picture came.
    private var lastOffer = MediaTime.zero
    /// When a picture was coded last, other than as a repetition.
    private(set) var lastCoding = MediaTime.zero
    /// Spaces frames where fewer are wanted a second than the source has.
    private var spacing = FrameSpacing()

    init(frameRate: Double) {
        self.frameRate = frameRate
        sourceInterval = 1 / frameRate
    }

    /// When the next frame would be made if pictures came at any time, where frames are spaced.
    var nextSpaced: MediaTime { spacing.next }

    /// The source has a new picture.
    mutating func offered(at now: MediaTime) {
        let passed = (now - lastOffer).inSeconds
        if passed < 1 { sourceInterval += (passed - sourceInterval) / 8 }
        lastOffer = now
    }

    mutating func coding(at time: MediaTime) { lastCoding = time }

    /// A frame was made, of whatever kind, where `rate` a second are enough.
    mutating func made(at time: MediaTime, rate: Double) {
        spacing.made(at: time, rate: rate, sourceInterval: sourceInterval)
    }

    /// When the next picture is coded: `fresh` for one that comes at that moment, `remembered` for one that came before
    /// and is coded unless a newer one comes.
    ///
    /// - Parameters:
    ///   - divisor: One of so many pictures is coded.
    ///   - isSpaced: Somebody has said how many frames a second are enough.
    func due(divisor: Int, isSpaced: Bool) -> (fresh: MediaTime, remembered: MediaTime) {
        let spaced = isSpaced ? spacing.due(sourceInterval: sourceInterval) : (.zero, .zero)
        guard divisor > 1 else { return spaced }
        // The margin of 0.4 intervals allows for pictures that come early or late.
        func time(_ pictures: Double) -> MediaTime { lastCoding + .seconds(clamping: pictures / frameRate) }
        return (max(spaced.fresh, time(Double(divisor) - 0.4)), max(spaced.remembered, time(Double(divisor) + 0.4)))
    }
}
