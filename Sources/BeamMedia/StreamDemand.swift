/// What a simulcast layer's encoder has to make at present.
///
/// Up to two layers leave a host: layer 0 for everybody, and layer 1, a reduced one, only while a viewer needs it.
public struct StreamDemand: Sendable, Hashable {
    public static let layerCount = 2

    /// Somebody watches or records this layer.
    public var isWatched: Bool
    /// Bits a second that the viewers' paths carry for frames; nil: only the options limit the rate.
    public var bitRate: Int?
    /// Encoded frames wait to be sent: nothing is encoded, and when the hold ends, the newest picture is taken at once.
    public var isHeld: Bool
    /// Every other frame is to be disposable (`AccessUnit.isDisposable`), so that half of the frames can be skipped for
    /// a slow viewer. Costs bits and encoding time. An encoder that can't do it goes on without.
    public var wantsTemporalLayers: Bool
    /// The share of the width and height at full quality that is enough for everybody, in eighths, 1 to `wholeSize`.
    public var eighths: Int

    /// One of this many frames is enough: 1 for all of them, and more while the machine can't send all. At least 1.
    public var frameDivisor = 1

    /// So many frames a second are enough for everybody; nil: all that the source gives.
    public var frameRate: Double?

    /// The consumer takes full quality only: the options' rate, without holds, whatever the other consumers' paths
    /// carry. They have the other layer.
    public var isWhole: Bool

    /// Nobody is lowered for the consumer: its `bitRate` counts only while no other consumer watches the layer.
    public var takesAnyRate = false

    /// A frame is due at least so often: if nothing changes, the last picture is coded again. Nil: a still screen makes
    /// none.
    public var longestPause: Duration?

    /// Somebody takes exact patches beside the frames.
    public var wantsPatches = false

    /// All who watch take them: frames of changes that were sent exactly may come later and rarer.
    public var hasOnlyPatchTakers = false

    /// Some of their paths lose datagrams, also behind relays, so that frames have to follow soon.
    public var losesPatches = false

    /// All who watch draw the pointer themselves: it may be left out of the pictures.
    public var hasOnlyPointerTakers = false

    public static let wholeSize = 8

    public init(
        isWatched: Bool = false, bitRate: Int? = nil, isHeld: Bool = false, wantsTemporalLayers: Bool = false,
        eighths: Int = wholeSize, isWhole: Bool = false
    ) {
        self.isWatched = isWatched
        self.bitRate = bitRate
        self.isHeld = isHeld
        self.wantsTemporalLayers = wantsTemporalLayers
        self.eighths = eighths
        self.isWhole = isWhole
    }

    /// The demand of two consumers of one encoder: both get the same frames, so the lower rate counts, unless one takes
    /// any rate, and a hold of either holds both, unless one takes full quality only. The shorter pause counts, the
    /// higher frame rate, and disposable frames are made if either wants them. A demand that isn't watched has no
    /// effect.
    public func union(_ other: StreamDemand) -> StreamDemand {
        guard other.isWatched else { return self }
        guard isWatched else { return other }
        var both = self
        both.isWhole = isWhole || other.isWhole
        both.takesAnyRate = takesAnyRate && other.takesAnyRate
        let rates = [self, other].filter { $0.takesAnyRate == both.takesAnyRate }.compactMap(\.bitRate)
        both.bitRate = both.isWhole ? nil : rates.min()
        both.wantsTemporalLayers = wantsTemporalLayers || other.wantsTemporalLayers
        both.longestPause = [longestPause, other.longestPause].compactMap { $0 }.min()
        both.isHeld = !both.isWhole && (isHeld || other.isHeld)
        both.frameDivisor = both.isWhole ? 1 : max(frameDivisor, other.frameDivisor)
        both.frameRate = both.isWhole ? nil : frameRate.flatMap { own in other.frameRate.map { max(own, $0) } }
        both.eighths = max(eighths, other.eighths)
        both.wantsPatches = wantsPatches || other.wantsPatches
        both.hasOnlyPatchTakers = hasOnlyPatchTakers && other.hasOnlyPatchTakers
        both.losesPatches = losesPatches || other.losesPatches
        both.hasOnlyPointerTakers = hasOnlyPointerTakers && other.hasOnlyPointerTakers
        return both
    }
}
