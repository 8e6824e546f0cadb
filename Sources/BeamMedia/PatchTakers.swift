/// Who gets the picture by way of one viewer: the viewer itself, and those to whom it passes it on. A viewer tells its host,
/// which sends patches only if somebody takes them, and sends the video as without patches if somebody gets it alone.
public struct PatchTakers: OptionSet, Sendable, Hashable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Somebody takes exact patches beside the frames.
    public static let exact = PatchTakers(rawValue: 1 << 0)
    /// Somebody gets the frames alone.
    public static let video = PatchTakers(rawValue: 1 << 1)

    /// Those who are behind a demand.
    public init(_ demand: StreamDemand) {
        self = []
        guard demand.isWatched else { return }
        if demand.wantsPatches { insert(.exact) }
        if !demand.hasOnlyPatchTakers { insert(.video) }
    }
}
