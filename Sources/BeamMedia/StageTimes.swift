/// The time that a frame spent in the host's stages.
public struct StageTimes: Sendable, Hashable {
    /// From the capture time to the start of encoding.
    public var waited: Duration
    /// From the start of encoding until the frame was handed to the sinks.
    public var encode: Duration

    public init(waited: Duration, encode: Duration) {
        self.waited = waited
        self.encode = encode
    }
}
