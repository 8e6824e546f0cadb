/// Limits how often a peer can make the program print a line: `most` in `period`, then none until the next one.
struct WordLimit: Sendable {
    static let most = 10
    static let period = Duration.seconds(10)

    private var count = 0
    private var begin: ContinuousClock.Instant?

    /// Whether a line may be printed now; counts it.
    mutating func allows(at now: ContinuousClock.Instant) -> Bool {
        if begin.map({ now - $0 >= Self.period }) ?? true {
            begin = now
            count = 0
        }
        count += 1
        return count <= Self.most
    }
}
