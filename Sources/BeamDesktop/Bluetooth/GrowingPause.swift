/// Pauses between attempts, each twice as long as the one before.
struct GrowingPause {
    let first: Duration
    let longest: Duration
    private var following: Duration

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        following = first
    }

    mutating func next() -> Duration {
        defer { following = min(following * 2, longest) }
        return following
    }

    mutating func reset() { following = first }
}
