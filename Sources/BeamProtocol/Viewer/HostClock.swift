import BeamMedia

/// How the host's clock stands to the viewer's, from the control plane's pings: as Cristian's algorithm has it, the host
/// read its clock within the round trip, so half of that is the error.
///
/// The best of the exchanges counts; it grows worse as it grows old, because the clocks' crystals differ.
struct HostClock: Sendable {
    private struct Exchange: Sendable {
        /// To be added to a time of the host's.
        var offset: Duration
        var error: Duration
        var at: MediaTime
    }

    /// What two crystals may differ by, at the worst: 100 µs in a second.
    private static let drift = 1e-4

    private var best: Exchange?
    private(set) var roundTrip: Duration?
    private var exchanges = 0

    /// The first few follow one another: the first is hardly ever the quickest.
    var wantsMore: Bool { exchanges < 6 }

    /// The answer to a ping that left at `sent`, with the host's clock.
    mutating func pong(sent: MediaTime, host: MediaTime, now: MediaTime) {
        let trip = now - sent
        // A ping that was never sent, or a clock from nowhere.
        guard trip >= .zero, trip < .seconds(10) else { return }
        exchanges += 1
        roundTrip = trip
        let half = trip / 2
        let exchange = Exchange(offset: sent + half - host, error: half, at: now)
        if let error = error(now: now), error < half { return }
        best = exchange
    }

    /// A time of the host's, on the viewer's clock; nil before the first answer.
    func local(_ time: MediaTime) -> MediaTime? { best.map { time + $0.offset } }

    /// How far off `local` may be.
    func error(now: MediaTime) -> Duration? {
        best.map { $0.error + .seconds(clamping: (now - $0.at).inSeconds * Self.drift) }
    }
}
