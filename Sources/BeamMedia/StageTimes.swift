/// Where a frame's time went on the host.
public struct StageTimes: Sendable, Hashable {
    /// From the capture time to the start of encoding.
    public var waited: Duration
    /// From there until the frame was handed to the sinks.
    public var encode: Duration

    public init(waited: Duration, encode: Duration) {
        self.waited = waited
        self.encode = encode
    }
}
