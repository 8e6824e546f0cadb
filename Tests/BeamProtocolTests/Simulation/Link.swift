import BeamMedia

/// The properties of a network path.
struct LinkConditions {
    /// One way.
    var delay = Duration.milliseconds(1)
    /// Up to that much more, evenly distributed: datagrams may overtake each other.
    var jitter = Duration.zero
    /// Shares of all datagrams, 0 to 1, that are lost, delivered twice, or delayed by 2 to 20 ms.
    var loss = 0.0
    var duplication = 0.0
    var reorder = 0.0
    /// The chances that a run of losses begins at a datagram, and that it ends.
    var burstBegins = 0.0
    var burstEnds = 0.3
    /// The bottleneck, with a queue of `queueBytes` in front; nil: unlimited.
    var bitsPerSecond: Double?
    var queueBytes = 256_000
    var isMuted = false
    /// Longer IPv4 packets are dropped without a word.
    var mtu = 1500
}

/// One direction of a network, repeatable by its seed.
struct Link {
    var conditions = LinkConditions()
    private var random: SeededGenerator
    private var isInBurst = false
    /// The time when the last byte in the queue will have left.
    private var busyUntil = MediaTime.zero
    private(set) var lost = 0
    private(set) var passed = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// The arrival times of a datagram: none, one or two.
    mutating func arrivals(of length: Int, now: MediaTime) -> [MediaTime] {
        if length + 28 > conditions.mtu { return lose() }
        if random.chance(isInBurst ? conditions.burstEnds : conditions.burstBegins) { isInBurst.toggle() }
        var leaves = now
        if let rate = conditions.bitsPerSecond {
            let backlog = max(.zero, busyUntil - now)
            guard backlog.inSeconds * rate / 8 + Double(length) <= Double(conditions.queueBytes) else { return lose() }
            busyUntil = max(busyUntil, now) + .nanoseconds(Int64(Double(length) * 8e9 / rate))
            leaves = busyUntil
        }
        if conditions.isMuted || isInBurst || random.chance(conditions.loss) { return lose() }
        passed += 1
        let copies = random.chance(conditions.duplication) ? 2 : 1
        return (0..<copies).map { _ in
            var arrival = leaves + conditions.delay
            if conditions.jitter > .zero {
                arrival = arrival + .nanoseconds(Int64.random(in: 0...conditions.jitter.inNanoseconds, using: &random))
            }
            if random.chance(conditions.reorder) {
                arrival = arrival + .milliseconds(Int64.random(in: 2...20, using: &random))
            }
            return arrival
        }
    }

    private mutating func lose() -> [MediaTime] {
        lost += 1
        return []
    }
}
