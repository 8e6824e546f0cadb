import BeamMedia

/// Size, frame rate and content of the test pattern.
public struct PatternOptions: Hashable, Sendable {
    /// 2…8192 pixels a side, even or odd.
    public var size: PixelSize
    /// Frames per second, 1…240.
    public var frameRate: Double
    public var content: PatternContent

    public init(
        size: PixelSize = PixelSize(width: 1280, height: 720), frameRate: Double = 30,
        content: PatternContent = .chart
    ) {
        self.size = size
        self.frameRate = frameRate
        self.content = content
    }

    /// Frames from one distinct picture to the next. A source skips the identical ones between.
    public var framesPerChange: Int {
        content.changeRate.map { max(1, Int((frameRate / $0).rounded())) } ?? 1
    }

    func validate() throws(CaptureError) {
        let sides = 2...8192
        guard sides.contains(size.width), sides.contains(size.height) else {
            throw .unusablePattern(
                reason: "\(size) is not a size that it can have. Choose 2 to 8192 pixels a side with --size")
        }
        guard frameRate >= 1, frameRate <= 240 else {
            throw .unusablePattern(
                reason: "\(frameRate) frames a second is not a rate that it can have. Choose 1 to 240")
        }
    }

    /// When frame `number` is due, relative to frame 0. One multiplication and one division of doubles: the same on
    /// every machine.
    func time(of number: Int) -> MediaTime {
        MediaTime(nanoseconds: Int64((Double(number) * 1_000_000_000 / frameRate).rounded()))
    }
}
