/// What a layer's encoder is to make at the moment.
///
/// Up to two streams, called layers, leave a host: layer 0 for everybody, and layer 1, a smaller one, only when somebody needs it.
public struct StreamDemand: Sendable, Hashable {
    /// How many layers there are.
    public static let layerCount = 2

    /// Somebody gets this layer.
    public var isWatched: Bool
    /// Bits a second that the viewers' paths carry for frames; nil: no bound is known but the options' own.
    public var bitRate: Int?
    /// What was encoded hasn't left yet: nothing is encoded now, and when this ends, the newest picture is taken at once.
    public var isHeld: Bool
    /// Every other frame is to be one that nothing later refers to (`AccessUnit.isDisposable`), so that a slow viewer can do
    /// with half of the frames. Costs bits and encoding time. An encoder that can't do this goes on as before.
    public var wantsTemporalLayers: Bool

    public init(
        isWatched: Bool = false, bitRate: Int? = nil, isHeld: Bool = false, wantsTemporalLayers: Bool = false
    ) {
        self.isWatched = isWatched
        self.bitRate = bitRate
        self.isHeld = isHeld
        self.wantsTemporalLayers = wantsTemporalLayers
    }

    /// What one encoder makes for whoever makes this demand and for whoever makes `other`: the frames are the same for both, so the
    /// lower of their rates counts, and one that holds holds both. What nobody watches asks for nothing.
    public func union(_ other: StreamDemand) -> StreamDemand {
        guard other.isWatched else { return self }
        guard isWatched else { return other }
        var both = self
        both.bitRate = [bitRate, other.bitRate].compactMap { $0 }.min()
        both.isHeld = isHeld || other.isHeld
        return both
    }
}
