/// What is taken by all who get the picture through one viewer: by itself, and by those to whom it passes the picture
/// on. A viewer tells its host. The host sends patches only if somebody takes them, and if somebody gets the video
/// alone, it sends the video as if there were no patches. If patches get lost on the way, its frames come soon.
public struct PatchTakers: OptionSet, Sendable, Hashable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Somebody takes exact patches beside the frames.
    public static let exact = PatchTakers(rawValue: 1 << 0)
    /// Somebody gets the frames alone.
    public static let video = PatchTakers(rawValue: 1 << 1)

    /// Some of those who take patches lose some of them on their way.
    public static let losing = PatchTakers(rawValue: 1 << 2)

    /// All that are known.
    public static let all: PatchTakers = [.exact, .video, .losing]

    /// Those who are behind a demand.
    public init(_ demand: StreamDemand) {
        self = []
        guard demand.isWatched else { return }
        if demand.wantsPatches { insert(.exact) }
        if !demand.hasOnlyPatchTakers { insert(.video) }
        if demand.losesPatches { insert(.losing) }
    }
}
