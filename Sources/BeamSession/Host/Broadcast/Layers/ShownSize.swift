import BeamMedia

/// In which size a viewer shows the picture, how large pictures may be for it and how large it wishes them at most, as it
/// says; and how large a picture is enough for that. A pure value.
///
/// Sizes are in steps of an eighth, so that a viewer whose window changes by a pixel changes nothing.
struct ShownSize: Sendable {
    /// Up to this share the reduced layer is worth it: at seven eighths, a picture of its own costs more than it saves.
    private static let mostReduced = 6

    /// However little a viewer takes, others in its layer get pictures up to this size. It is a usual screen.
    static let least = PictureBounds(sides: PixelSize(width: 4096, height: 4096), area: 1920 * 1088)

    /// The largest pictures that the viewer takes; nil: any.
    var bounds: PictureBounds?
    /// The longer side of the largest picture that the viewer wishes; nil: any.
    var maxSize: Int?
    /// Within the bounds: the largest share of the full picture's width and height, in eighths.
    private(set) var limit = StreamDemand.wholeSize
    /// The same for others in its layer.
    private(set) var limitForOthers = StreamDemand.wholeSize
    /// Within `maxSize`: the largest share.
    private var wished = StreamDemand.wholeSize
    /// Limits how often a change counts.
    private var announced = Announcement<PixelSize?>()
    /// Nil: any.
    private var size: PixelSize?
    /// The share of the full picture's width and height that is enough, in eighths.
    private(set) var wanted = StreamDemand.wholeSize
    /// The same, as the viewer's layer takes it into account. It may stay behind `wanted` for the sake of other viewers.
    private(set) var applied = StreamDemand.wholeSize

    /// When to call `deadlineReached`; nil while nothing waits.
    var deadline: MediaTime? { announced.deadline }

    /// A smaller picture than the full one is enough, or all that the viewer takes or wishes.
    var isSmall: Bool { wanted <= Self.mostReduced || isLimited || wished < StreamDemand.wholeSize }

    /// The viewer doesn't take the full picture.
    var isLimited: Bool { limit < StreamDemand.wholeSize }

    /// Takes what the viewer says. True if it counts now.
    mutating func received(_ size: PixelSize?, now: MediaTime) -> Bool {
        guard let size = announced.received(size, now: now) else { return false }
        self.size = size
        return true
    }

    /// True if a change counts from now on.
    mutating func deadlineReached(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now, let size = announced.deadlineReached(now: now) else { return false }
        self.size = size
        return true
    }

    /// Finds what is enough of a picture of the size `full`; nil: not known.
    mutating func fit(_ full: PixelSize?) {
        (limit, limitForOthers, wished) = (StreamDemand.wholeSize, StreamDemand.wholeSize, StreamDemand.wholeSize)
        if let bounds, let full, !bounds.contains(full) {
            limit = bounds.eighths(of: full)
            limitForOthers = max(limit, Self.least.eighths(of: full))
        }
        if let maxSize, let full {
            wished = PictureBounds(sides: PixelSize(width: maxSize, height: maxSize)).eighths(of: full)
        }
        wanted = min(limit, wished)
        guard let size, let full, full.area > 0 else { return }
        let scale = min(
            Double(size.width) / Double(full.width), Double(size.height) / Double(full.height))
        // The picture fills one side of the rectangle in which it is shown. A tenth of a step too small isn't seen.
        let eighths = Int(clamping: min(1, scale) * Double(StreamDemand.wholeSize) + 0.9)
        wanted = min(wanted, max(1, eighths))
    }

    mutating func apply() { applied = isSmall ? wanted : StreamDemand.wholeSize }

    /// What `apply` is going to change.
    var isOutdated: Bool { applied != (isSmall ? wanted : StreamDemand.wholeSize) }
}
