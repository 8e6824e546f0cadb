import BeamMedia
import BeamWire

/// Judges from time to time whether a browser's path carries what it gets, and what it carries.
///
/// A browser without transport feedback says two things: which packets are missing, as NACKs, and each second a share of
/// losses, which leaves out those that came when they were sent again. The larger one counts.
struct BrowserPath: Sendable {
    enum Verdict: Hashable, Sendable { case good, unclear, bad }

    /// More losses than this aren't chance: 5 % by chance come to this share in one of many windows only.
    private static let badLoss = 0.12
    private static let goodLoss = 0.06
    /// Packets wait in front of a bottleneck if reports come back so much later than at best.
    private static let badDelay = Duration.milliseconds(300)
    /// A window has so much time and so many packets, or, on a quiet screen, more time and fewer packets.
    private static let window = (time: Duration.seconds(1), packets: 200)
    private static let longWindow = (time: Duration.seconds(5), packets: 50)
    /// On a still screen nothing bad can be said, as too few packets are sent.
    private static let stillTime = Duration.seconds(10)
    /// Rates below this aren't asked for, in bits a second.
    static let leastRate = 300_000
    /// Estimates don't grow beyond this.
    private static let mostRate = 1_000_000_000

    private var since: MediaTime
    private var packets = 0
    private var bytes = 0
    private var missing = 0
    /// Of the last window's end: the browser's totals.
    private var counted: (highest: UInt32, lost: Int32)?
    private var newest: (highest: UInt32, lost: Int32)?
    private var leastRoundTrip: Duration?
    /// The least of this window.
    private var windowRoundTrip: Duration?

    private(set) var roundTrip: Duration?
    private(set) var loss: Double?
    /// An estimate of what the path carries, in bits a second; nil before it has carried too little.
    private(set) var capacity: Int?

    init(now: MediaTime) { since = now }

    mutating func sent(packets: Int, bytes: Int) {
        self.packets += packets
        self.bytes += bytes
    }

    /// Packets that are missing, each counted once.
    mutating func missing(_ count: Int) { missing += count }

    mutating func report(_ report: ReceptionReport, now: MediaTime) {
        newest = (report.highestSequence, report.cumulativeLost)
        guard report.lastReport != 0 else { return }
        let units = NTPTime(now).middle &- report.lastReport &- report.delay
        let trip = NTPTime.duration(units)
        // Nobody answers after a minute: that number was made up, or is of before.
        guard trip <= .seconds(60) else { return }
        roundTrip = trip
        leastRoundTrip = min(leastRoundTrip ?? trip, trip)
        windowRoundTrip = min(windowRoundTrip ?? trip, trip)
    }

    /// The verdict of a window that ends now; nil if it hasn't lasted long enough.
    mutating func judge(now: MediaTime) -> Verdict? {
        let time = now - since
        guard
            time >= Self.window.time && packets >= Self.window.packets
                || time >= Self.longWindow.time && packets >= Self.longWindow.packets
                || time >= Self.stillTime && packets > 0
        else { return nil }
        let isStill = packets < Self.longWindow.packets
        let share = min(1, Double(max(missing, reportedLost)) / Double(packets))
        let delay = windowRoundTrip.flatMap { window in leastRoundTrip.map { window - $0 } } ?? .zero
        let verdict: Verdict =
            share < Self.goodLoss && delay < Self.badDelay
            ? .good : !isStill && (share >= Self.badLoss || delay >= Self.badDelay) ? .bad : .unclear
        let carried = Int(clamping: Double(bytes) * 8 * (1 - share) / max(0.001, time.inSeconds))
        learn(verdict, carried: carried)
        loss = share
        restart(now: now)
        return verdict
    }

    /// Losses by the browser's totals in this window, as far as they are possible.
    private var reportedLost: Int {
        guard let counted, let newest else { return 0 }
        let expected = Int(Int32(truncatingIfNeeded: newest.highest &- counted.highest))
        let lost = Int(newest.lost) - Int(counted.lost)
        return expected > 0 && expected <= 2 * packets ? min(max(0, lost), expected) : 0
    }

    private mutating func learn(_ verdict: Verdict, carried: Int) {
        switch verdict {
        case .bad:
            let measured = carried / 10 * 8
            capacity = max(Self.leastRate, min(capacity ?? .max, measured))
        case .good:
            // Grown by a seventh a window: from 1 to 10 Mbit/s in some 20 s.
            capacity = capacity.map { min(Self.mostRate, Int(clamping: Double($0) * 1.15)) }
        case .unclear: break
        }
    }

    /// For a page that acknowledges: what was found by other means.
    mutating func judged(_ verdict: Verdict, carried: Int, roundTrip: Duration?) {
        self.roundTrip = roundTrip ?? self.roundTrip
        learn(verdict, carried: carried)
    }

    /// Begins a new window.
    mutating func restart(now: MediaTime) {
        since = now
        (packets, bytes, missing) = (0, 0, 0)
        counted = newest ?? counted
        windowRoundTrip = nil
    }
}
