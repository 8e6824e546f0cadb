/// The most that a viewer wishes to be sent: nil for what it doesn't limit.
///
/// Each value is within what the fields' ranges say, whatever it was made of.
public struct QualityWish: Sendable, Hashable {
    public static let sizes = 16...8192
    /// Below this a host can't follow a path either (`PathControl.leastRate`).
    public static let bitRates = 128_000...1_000_000_000
    public static let frameRates = 1.0...240.0

    /// The longer side of the picture, in pixels.
    public let maxSize: Int?
    /// Bits a second of all that is sent, headers and sound included.
    public let bitRate: Int?
    /// Frames a second.
    public let frameRate: Double?

    /// Nothing is limited.
    public static let any = QualityWish()

    /// Values outside of the ranges are replaced by the nearest one inside; a frame rate that isn't a number limits nothing.
    public init(maxSize: Int? = nil, bitRate: Int? = nil, frameRate: Double? = nil) {
        self.maxSize = maxSize.map { $0.clamped(to: Self.sizes) }
        self.bitRate = bitRate.map { $0.clamped(to: Self.bitRates) }
        self.frameRate = frameRate.flatMap { $0.isNaN ? nil : $0.clamped(to: Self.frameRates) }
    }
}

extension Comparable {
    fileprivate func clamped(to range: ClosedRange<Self>) -> Self {
        min(max(self, range.lowerBound), range.upperBound)
    }
}
