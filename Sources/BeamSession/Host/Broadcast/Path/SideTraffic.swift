import BeamMedia

/// What is sent on a path beside the frames: sound, exact patches and the pointer. They take their share of the path,
/// but the reports of frames, from which rates are measured, don't count them.
struct SideTraffic: Sendable {
    /// How long after the last datagram room is left for more.
    private static let memory = Duration.seconds(1)

    /// All bytes on the wire.
    private(set) var total: Int64 = 0
    private var latest: (rate: Double, at: MediaTime)?

    /// `rate`: of the sound at present, in bits a second on the wire. Patches and the pointer have no steady rate.
    mutating func sent(bytes: Int, rate: Int, now: MediaTime) {
        total += Int64(bytes)
        latest = (Double(rate), now)
    }

    /// The sound's rate, in bits a second on the wire.
    func rate(now: MediaTime) -> Double {
        guard let latest, now - latest.at < Self.memory else { return 0 }
        return latest.rate
    }
}
