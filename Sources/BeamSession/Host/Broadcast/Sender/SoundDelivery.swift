import BeamMedia
import BeamWire

/// What one viewer gets of the sound: whether it wants any, at which rate, what is repeated, and what is sent again. A pure
/// value.
struct SoundDelivery: Sendable {
    /// Below this estimate of the path's rate the reduced rate is sent, above the other one the full rate again; in bits a
    /// second. At 128 kbit/s sound takes up to 300 kbit/s on the wire if each packet is repeated.
    private static let slowRate = 1_200_000
    private static let fastRate = 2_000_000
    /// How long a path has to be fast before the full rate is sent again.
    private static let settlingTime = Duration.seconds(5)
    /// How long after a loss packets are repeated. At 1 % of loss a loss comes once a second.
    private static let lossMemory = Duration.seconds(30)
    /// How many packets are judged at a time, and which share of them lost in spite of repeats asks for one more repeat, or
    /// for two.
    private static let judged: UInt32 = 200
    private static let mostLost = 0.002
    private static let farTooManyLost = 0.02
    /// From this share of first transmissions lost on, two packets are repeated: with one, four losses in a row leave a gap
    /// that is heard, which at 5 % comes every half hour.
    private static let lossForTwo = 0.03
    /// After so many judgements without a loss (20 s) one repeat less is tried.
    private static let losslessToShrink = 10
    /// More than this in one report, or between two, can't be true.
    private static let mostCounted: UInt32 = 6_000
    /// Packets that are sent again for one viewer: a burst, and a rate a second. An honest viewer asks for as many as are
    /// lost, of a hundred a second.
    private static let burst = 40
    private static let perSecond = 100
    /// How long the rate counts after the last packet.
    private static let rateMemory = Duration.milliseconds(500)

    /// The viewer takes sound, and wants it now.
    var isTaken = false
    var isWanted = true
    private(set) var isReduced = false
    private var fastSince: MediaTime?
    private var lastTotals: (expected: UInt32, missed: UInt32, lost: UInt32)?
    private var lastLoss: MediaTime?
    /// Packets and losses since they were judged last.
    private var counted: (expected: UInt32, missed: UInt32, lost: UInt32) = (0, 0, 0)
    private var depth = 1
    /// The share of first transmissions lost, as it was judged last.
    private var missedShare = 0.0
    /// Judgements in a row without a loss.
    private var lossless = 0
    // It counts packets instead of bytes, hence 8 “bits” each.
    private var budget = TokenBucket(capacity: burst, bitsPerSecond: perSecond * 8)
    /// Bits a second on the wire, smoothed over some packets.
    private var rate = 0.0
    private var lastSent: MediaTime?

    /// The viewer gets sound if there is any.
    var isOn: Bool { isTaken && isWanted }

    /// How many packets before the newest one are sent again with it: none on a path that doesn't lose any.
    func repeats(now: MediaTime) -> Int {
        guard let lastLoss, now - lastLoss < Self.lossMemory else { return 0 }
        // A slow path loses what doesn't fit into its queue. Repeats would take its rate from the picture.
        return isReduced && missedShare < Self.lossForTwo ? 0 : depth
    }

    /// Chooses the rate. `pathRate`: the bandwidth estimate in bits a second; nil while the path bounds nothing. True if it
    /// has changed.
    mutating func choose(pathRate: Int?, now: MediaTime) -> Bool {
        if let pathRate, pathRate < Self.slowRate {
            fastSince = nil
            defer { isReduced = true }
            return !isReduced
        }
        guard isReduced, pathRate ?? .max > Self.fastRate else {
            fastSince = nil
            return false
        }
        let since = fastSince ?? now
        fastSince = since
        guard now - since >= Self.settlingTime else { return false }
        fastSince = nil
        isReduced = false
        return true
    }

    /// Takes the viewer's report of the sound.
    mutating func take(_ report: Feedback.Sound, now: MediaTime) {
        let totals = (report.expected, report.missed, report.lost)
        defer { lastTotals = totals }
        guard let last = lastTotals else { return }
        let expected = report.expected &- last.expected
        // A viewer that restarts its counters, or counts backwards, is taken to have lost nothing.
        guard expected <= Self.mostCounted else { return }
        let missed = report.missed &- last.missed
        if missed > 0, missed <= Self.mostCounted { lastLoss = now }
        let lost = report.lost &- last.lost
        counted.expected += expected
        counted.missed += missed <= Self.mostCounted ? missed : 0
        counted.lost += lost <= Self.mostCounted ? lost : 0
        judge()
    }

    private mutating func judge() {
        guard counted.expected >= Self.judged else { return }
        let (lost, missed) = (
            Double(counted.lost) / Double(counted.expected), Double(counted.missed) / Double(counted.expected)
        )
        missedShare = missed
        let least = missed >= Self.lossForTwo ? 2 : 1
        if lost > Self.mostLost {
            depth = min(depth + (lost > Self.farTooManyLost ? 2 : 1), SoundStream.mostRepeats)
            lossless = 0
        } else if counted.lost == 0 {
            // More than enough, if that goes on.
            lossless += 1
            if lossless >= Self.losslessToShrink, depth > least { (depth, lossless) = (depth - 1, 0) }
        }
        depth = max(depth, least)
        counted = (0, 0, 0)
    }

    /// The path loses pictures: packets of the sound are probably lost, too.
    mutating func pathLost(now: MediaTime) { lastLoss = now }

    /// Whether one more packet may be sent again.
    mutating func payRetransmission(now: MediaTime) -> Bool { budget.take(1, now: now) == nil }

    /// A datagram of that length is being sent.
    mutating func sent(bytes: Int, now: MediaTime) {
        let present = Double(bytes) * 8 / SoundBlock.duration.inSeconds
        let isContinued = lastSent.map { now - $0 < Self.rateMemory } ?? false
        rate = isContinued ? rate + (present - rate) / 16 : present
        lastSent = now
    }

    /// What the sound takes of the path at present, in bits a second on the wire.
    func rate(now: MediaTime) -> Int {
        guard let lastSent, now - lastSent < Self.rateMemory else { return 0 }
        return Int(clamping: rate)
    }
}
