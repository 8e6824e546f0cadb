import BeamMedia

/// The offset between the host's and the viewer's clock, from the control connection's pings by Cristian's algorithm:
/// the host read its clock somewhere within the round trip, so the error is at most half of it.
///
/// The exchange with the smallest error counts. Its error grows with its age, because the two clocks drift apart.
struct HostClock: Sendable {
    private struct Exchange: Sendable {
        /// Host time + `offset` = viewer time.
        var offset: Duration
        var error: Duration
        var at: MediaTime
    }

    /// Drift between the two clocks, in seconds a second: 100 ppm, more than two ordinary crystals differ by.
    private static let clockDrift = 1e-4

    private var best: Exchange?
    private(set) var roundTrip: Duration?
    private var exchanges = 0

    /// Six pings are sent in a row at first, because the first one is rarely the fastest.
    var wantsMore: Bool { exchanges < 6 }

    /// The host's answer to the ping sent at `sent`; `host` is its clock.
    mutating func pong(sent: MediaTime, host: MediaTime, now: MediaTime) {
        let trip = now - sent
        // Not an answer to a recent ping of ours.
        guard trip >= .zero, trip < .seconds(10) else { return }
        exchanges += 1
        roundTrip = trip
        let half = trip / 2
        let exchange = Exchange(offset: sent + half - host, error: half, at: now)
        if let error = error(now: now), error < half { return }
        best = exchange
    }

    /// Host time + offset = viewer time; nil before the first answer.
    var offset: Duration? { best?.offset }

    /// Converts host time to viewer time; nil before the first answer.
    func local(_ time: MediaTime) -> MediaTime? { best.map { time + $0.offset } }

    /// The largest error of `local`; nil before the first answer.
    func error(now: MediaTime) -> Duration? {
        best.map { $0.error + .seconds(clamping: (now - $0.at).inSeconds * Self.clockDrift) }
    }
}
