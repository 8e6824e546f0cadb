import BeamMedia

/// What is sent on a path beside the frames: the sound. It takes its share of the path, but the reports of frames, from which
/// rates are measured, don't count it.
struct SideTraffic: Sendable {
    /// How long after the last datagram room is left for more.
    private static let memory = Duration.seconds(1)

    /// All bytes on the wire.
    private(set) var total: Int64 = 0
    private var latest: (rate: Double, at: MediaTime)?

    /// `rate`: what is sent at present, in bits a second on the wire.
    mutating func sent(bytes: Int, rate: Int, now: MediaTime) {
        total += Int64(bytes)
        latest = (Double(rate), now)
    }

    /// In bits a second on the wire.
    func rate(now: MediaTime) -> Double {
        guard let latest, now - latest.at < Self.memory else { return 0 }
        return latest.rate
    }
}
