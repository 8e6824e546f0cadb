/// Pauses between attempts, each twice as long as the one before.
public struct GrowingPause: Sendable {
    public let first: Duration
    public let longest: Duration
    private var following: Duration

    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        following = first
    }

    public mutating func next() -> Duration {
        defer { following = min(following * 2, longest) }
        return following
    }

    public mutating func reset() { following = first }
}
