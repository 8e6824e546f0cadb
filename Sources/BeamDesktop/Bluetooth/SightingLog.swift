import BeamMedia

/// Which hosts have been reported, so that each is reported once. Bounded against neighbours who advertise ever new
/// ones.
struct SightingLog {
    /// Remembered at most; the oldest goes first.
    static let capacity = 64
    /// Reported at most in `window`; more than can be nearby.
    static let burst = 64
    static let window = Duration.seconds(10)

    private(set) var hosts: [BluetoothHost] = []
    private var windowStart = MediaTime.distantPast
    private var reported = 0

    /// True if the host is to be reported.
    mutating func see(_ host: BluetoothHost, now: MediaTime) -> Bool {
        guard !hosts.contains(host) else { return false }
        if now - windowStart >= Self.window {
            windowStart = now
            reported = 0
        }
        guard reported < Self.burst else { return false }
        reported += 1
        if hosts.count == Self.capacity { hosts.removeFirst() }
        hosts.append(host)
        return true
    }
}
