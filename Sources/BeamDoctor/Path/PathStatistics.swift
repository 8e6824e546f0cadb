import BeamMedia

/// Of a series of small echoes, or of connections.
struct RoundTrips: Equatable {
    /// In milliseconds.
    var median: Double
    var p95: Double
    var count: Int
    /// The share of those that were sent and haven't come back, 0 to 1.
    var loss: Double
    var lost: Int

    /// What most round trips take longer than the usual one: RFC 3550's jitter is a mean, which a delay that one frame in
    /// twenty meets hardly moves, and such a frame is late for everybody.
    var jitter: Double { p95 - median }

    /// Nil: none has come back.
    ///
    /// - Parameter sent: how many were sent.
    init?(_ times: [Duration], sent: Int) {
        let sorted = times.map(\.inMilliseconds).sorted()
        guard !sorted.isEmpty, sent >= sorted.count else { return nil }
        median = Self.percentile(0.5, of: sorted)
        p95 = Self.percentile(0.95, of: sorted)
        count = sent
        lost = sent - sorted.count
        loss = Double(lost) / Double(sent)
    }

    init?(_ echoes: [Echo]) {
        self.init(echoes.compactMap(\.roundTrip), sent: echoes.count { $0.sent != nil })
    }

    /// By the nearest rank.
    static func percentile(_ share: Double, of sorted: [Double]) -> Double {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}

/// What a path carries, by how far trains of large echoes, which leave at once, are drawn apart until they are back
/// (packet-train dispersion: Dovrolis, Ramanathan and Moore 2004). The slower direction decides.
struct TrainRate: Equatable {
    /// In bits a second.
    var rate: Double
    /// The trains were hardly drawn apart: the path carries this, and perhaps more.
    var isAtLeast: Bool

    /// With less of a train its beginning, which a token bucket lets pass at once, decides too much.
    private static let leastEchoes = 6

    /// Of one train; nil: too little of it has come back.
    ///
    /// Only its last third counts: token buckets, and links that gather packets, let the beginning pass faster than what
    /// follows. (A bucket of 32 kB at 20 Mbit/s: 29 by the last half.)
    init?(_ train: [Echo]) {
        let back = train.filter { $0.roundTrip != nil }.sorted { ($0.arrived ?? .zero) < ($1.arrived ?? .zero) }
        guard back.count >= Self.leastEchoes else { return nil }
        let end = back.suffix(max(4, back.count / 3))
        guard let first = end.first, let last = end.last, let from = first.arrived, let to = last.arrived else {
            return nil
        }
        let bytes = end.dropFirst().reduce(0) { $0 + $1.size }
        // The clock's own step bounds it: no link is that fast.
        let time = max(to - from, .microseconds(1))
        rate = Double(bytes * 8) / time.inSeconds
        let times = end.compactMap(\.sent)
        let sending = (times.max() ?? .zero) - (times.min() ?? .zero)
        // It came back as it was sent, by a sender that could have been slower than the path.
        isAtLeast = sending.inSeconds >= 0.8 * time.inSeconds
    }

    /// The median of several; nil: there are none.
    init?(median trains: [TrainRate]) {
        guard !trains.isEmpty else { return nil }
        let sorted = trains.sorted { $0.rate < $1.rate }
        rate = sorted[sorted.count / 2].rate
        isAtLeast = trains.count { $0.isAtLeast } * 2 > trains.count
    }
}
