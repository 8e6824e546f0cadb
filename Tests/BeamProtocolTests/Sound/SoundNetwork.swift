import BeamMedia

/// What a network does to datagrams with sound, as the laboratory's link does (`Lab/probes/relay`). Times in seconds.
struct SoundNetworkConditions {
    var delay = 0.001
    /// Up to this much more, drawn anew every `hold`; datagrams keep their order but for the reordered ones.
    var jitter = 0.0
    var hold = 0.01
    /// The share of datagrams that come `by` later than they would have, and are overtaken.
    var reorder = 0.0
    var by = 0.01
    var loss = 0.0
    /// Datagrams that are lost in a row on average (Gilbert and Elliott); 1: each for itself.
    var burst = 1.0
    /// One of so many datagrams is sound; the others are the picture's.
    var datagramsPerPacket = 1
    /// Each datagram has so many packets before it once more.
    var repeats = 0
    var retransmits = false
    /// Nothing passes between these times; it is delivered at the end.
    var stalls: [(from: Double, to: Double)] = []
}

/// The way of packets from the host to the viewer: tells when each arrives. Repeatable by its seed.
struct SoundNetwork {
    var conditions: SoundNetworkConditions
    private var random: SeededGenerator
    private var isInBurst = false
    private var spans = (number: -1, jitter: 0.0)
    private var lastDue = 0.0
    /// Numbers of packets that were lost, until it is known whether they come some other way.
    private var missing: [Int] = []
    private(set) var lostDatagrams = 0
    private(set) var lostForGood = 0

    init(_ conditions: SoundNetworkConditions, seed: UInt64) {
        self.conditions = conditions
        random = SeededGenerator(seed: seed)
    }

    /// The arrivals that follow from sending packet `number` at `time`: its own, and those of earlier packets.
    mutating func send(_ number: Int, at time: Double) -> [(number: Int, at: Double)] {
        var isLost = false
        for _ in 0..<conditions.datagramsPerPacket { isLost = loses() }
        guard !isLost else {
            lostDatagrams += 1
            missing.append(number)
            return []
        }
        let due = due(at: time)
        var arrivals = [(number, due)]
        for lost in missing {
            if lost >= number - conditions.repeats {
                arrivals.append((lost, due))
            } else if let answer = retransmission(requestedAt: due + 0.002) {
                arrivals.append((lost, answer))
            } else {
                lostForGood += 1
            }
        }
        missing.removeAll(keepingCapacity: true)
        return arrivals
    }

    private mutating func loses() -> Bool {
        guard conditions.burst > 1 else { return random.chance(conditions.loss) }
        let leave = 1 / conditions.burst
        let enter = conditions.loss * leave / (1 - conditions.loss)
        isInBurst = random.chance(isInBurst ? leave : enter) ? !isInBurst : isInBurst
        return isInBurst
    }

    private mutating func due(at time: Double) -> Double {
        var due = time + conditions.delay
        if conditions.jitter > 0 {
            let span = conditions.hold > 0 ? Int(time / conditions.hold) : spans.number + 1
            if span != spans.number { spans = (span, Double.random(in: 0..<conditions.jitter, using: &random)) }
            due += spans.jitter
        }
        if random.chance(conditions.reorder) { return due + conditions.by }
        for stall in conditions.stalls where due >= stall.from && due < stall.to { due = stall.to }
        due = max(due, lastDue)
        lastDue = due
        return due
    }

    /// When the answer to a request arrives: a round trip later, unless one of both is lost; then it is repeated.
    private mutating func retransmission(requestedAt time: Double) -> Double? {
        guard conditions.retransmits else { return nil }
        let roundTrip = 2 * conditions.delay
        for attempt in 0..<3 where !random.chance(conditions.loss) && !random.chance(conditions.loss) {
            return time + roundTrip + Double(attempt) * (roundTrip + 0.01)
                + (conditions.jitter > 0 ? Double.random(in: 0..<2 * conditions.jitter, using: &random) : 0)
        }
        return nil
    }
}
