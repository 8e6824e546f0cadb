import BeamMedia

/// How the stream gets to one version 2 viewer: what its path carries, when each part left, and what has to be sent again.
struct Delivery: Sendable {
    /// It may be sent 4:4:4 pictures.
    let decodesFullChroma: Bool
    var path: PathControl
    var retransmissions = RetransmissionQueue()
    var log = DepartureLog()
    var parity = ParityPlan()
    /// Lets retransmissions leave no faster than the path takes them.
    private var resendBucket: TokenBucket
    private var resendRate = 0
    /// When nothing had come from the viewer for too long.
    var silentSince: MediaTime?
    /// Totals in the last report.
    private var lastTotals: (expected: UInt32, missed: UInt32)?
    /// Parts that the viewer had of the frames it has told of.
    private var reported: [(frame: SequenceNumber, parts: Int)] = []
    /// What is said to the path; its memory is used again.
    private var report = PathControl.Report(newestSent: .zero, newestArrived: .zero, holdTime: .zero)
    private var lastProbe: MediaTime?
    private var clock = ReportClock()
    private var meter = RateMeter()
    private static let remembered = 64
    /// Retransmissions that leave in one go: a slow path takes one or two at a time.
    private static let resendBursts = 2...16
    private static let resendBurstTime = 0.01

    init(decodesFullChroma: Bool, limit: Int) {
        self.decodesFullChroma = decodesFullChroma
        // Parity, and what is sent again, come on top.
        path = PathControl(limit: limit + limit / 2)
        resendBucket = TokenBucket(
            capacity: Self.resendBursts.upperBound * MediaLimits.datagramLength, bitsPerSecond: limit)
    }

    /// It gets another layer from now on: nothing of the old one matters.
    mutating func layerChanged() {
        retransmissions.removeAll()
        log.removeAll()
        reported.removeAll(keepingCapacity: true)
        path.layerChanged()
    }

    /// Something leaves for the viewer: parts of a frame, parity, or parts that it has asked for.
    mutating func sent(bytes: Int, now: MediaTime) {
        path.sent(bytes: bytes, now: now)
        meter.count(bytes)
    }

    /// What is sent again leaves twice: asking a third time would take too long. Where the path is full that would only be in the
    /// way of everything else.
    var wantsDuplicates: Bool {
        !path.isBound && path.loss > 0.02 && path.roundTrip.map { $0 > Self.longTrip } ?? false
    }

    private static let longTrip = Duration.milliseconds(20)

    /// How long to wait before what was sent again is sent once more.
    var resendPause: Duration { path.roundTrip.map { max(.milliseconds(2), $0 * 3 / 4) } ?? .milliseconds(30) }

    /// How long what is to be sent again takes the path.
    var resendTime: Duration {
        guard retransmissions.count > 0, path.isBound else { return .zero }
        return .seconds(
            clamping: Double(retransmissions.count * MediaLimits.datagramLength) * 8 / Double(max(1, path.rate)))
    }

    /// In the long run no more than the path carries, or the options ask for: whoever asks for everything again gets that, and
    /// nobody else pays for it.
    private var resendPace: Int { path.rate }

    /// Parts that are sent again in one go.
    var resendBurst: Int {
        let datagrams = Int(clamping: Double(resendPace) * Self.resendBurstTime / 8) / MediaLimits.datagramLength
        return min(max(datagrams, Self.resendBursts.lowerBound), Self.resendBursts.upperBound)
    }

    /// What was paid for a retransmission that wasn't sent.
    mutating func returnResend(_ bytes: Int) { resendBucket.putBack(bytes) }

    /// Pays for retransmissions of so many bytes, or says when it can be paid for.
    mutating func payResend(_ bytes: Int, now: MediaTime) -> MediaTime? {
        let rate = resendPace
        if rate != resendRate {
            resendRate = rate
            resendBucket.change(
                capacity: resendBurst * MediaLimits.datagramLength, bitsPerSecond: rate, now: now)
        }
        return resendBucket.take(bytes, now: now)
    }

    /// The viewer was asked whether it is there.
    mutating func probed(now: MediaTime) { lastProbe = now }

    /// What the viewer says of how frames have arrived. A report whose clock has leaped counts as none.
    mutating func take(_ report: Feedback.Report, now: MediaTime) {
        if clock.judge(report.time, now: now) == .leaped {
            lastTotals = nil
            return path.forgetClock(now: now)
        }
        self.report.arrivals.removeAll(keepingCapacity: true)
        var newest: (sent: MediaTime, age: Duration)?
        self.report.newestRest = 0
        for arrival in report.arrivals {
            guard let frame = log.frame(arrival.frame), Int(arrival.received) <= frame.sent,
                let departure = log.departure(of: arrival.frame, part: Int(arrival.highest)),
                // What arrived longer ago than it left can't be true.
                ReportClock.isPossible(age: .microseconds(Int64(arrival.firstAge)), sent: frame.firstSent, now: now),
                ReportClock.isPossible(age: .microseconds(Int64(arrival.lastAge)), sent: departure.time, now: now)
            else { continue }
            let parts = Int(arrival.received)
            let before = exchange(parts, for: arrival.frame)
            func bytes(_ parts: Int) -> Int { frame.length * parts / max(1, frame.partCount) }
            self.report.arrivals.append(
                PathControl.FrameArrival(
                    number: arrival.frame.value, firstSent: frame.firstSent, lastSent: departure.time,
                    firstArrived: report.time - .microseconds(Int64(arrival.firstAge)),
                    lastArrived: report.time - .microseconds(Int64(arrival.lastAge)), sentBytes: bytes(departure.parts),
                    bytes: bytes(parts), newBytes: max(0, bytes(parts) - bytes(before)),
                    isComplete: parts == frame.partCount))
            if newest.map({ $0.sent <= departure.time }) ?? true {
                newest = (departure.time, .microseconds(Int64(arrival.lastAge)))
                self.report.newestRest =
                    max(0, departure.parts - 1 - Int(arrival.highest)) * MediaLimits.datagramLength
            }
        }
        count(report)
        if newest == nil, path.isSilent, let lastProbe { newest = (lastProbe, .zero) }
        if let recovery = report.recovery {
            let departure =
                recovery.part == Feedback.Recovery.parity
                ? log.frame(recovery.frame)?.paritySent
                : retransmissions.departure(of: Int(recovery.part), of: recovery.frame)
            if let departure { path.heard(sentBefore: departure, now: now) }
        }
        guard let newest else { return }
        self.report.newestSent = newest.sent
        self.report.newestArrived = report.time - newest.age
        self.report.holdTime = newest.age
        path.reported(self.report, now: now)
        parity.reported(expected: self.report.expected, lost: self.report.lost, now: now)
        parity.plan(loss: path.loss, roundTrip: path.leastRoundTrip)
        self.report.expected = 0
        self.report.lost = 0
    }

    private mutating func count(_ report: Feedback.Report) {
        let last = lastTotals ?? (report.expected, report.missed)
        lastTotals = (report.expected, report.missed)
        // A viewer that counts anew, or far backwards, has lost nothing. What isn't reported now is so next time.
        let expected = Int(Int32(bitPattern: report.expected &- last.expected))
        let missed = Int(Int32(bitPattern: report.missed &- last.missed))
        guard expected >= 0, abs(missed) <= Self.mostCounted, expected <= Self.mostCounted else { return }
        self.report.expected += expected
        self.report.lost += min(missed, expected)
    }

    private static let mostCounted = 100_000

    /// Notes how many parts of a frame have arrived, and answers how many that were before.
    private mutating func exchange(_ parts: Int, for frame: SequenceNumber) -> Int {
        if let index = reported.lastIndex(where: { $0.frame == frame }) {
            defer { reported[index].parts = max(parts, reported[index].parts) }
            return reported[index].parts
        }
        if reported.count == Self.remembered { reported.removeFirst(Self.remembered / 4) }
        reported.append((frame, parts))
        return 0
    }

    /// For the viewer and for people: in kbit/s.
    mutating func rates(now: MediaTime) -> StreamState.Rates {
        StreamState.Rates(
            estimated: UInt32(clamping: path.rate / 1000),
            used: UInt32(clamping: meter.take(now: now) / 1000), isPathBound: path.isBound)
    }
}

/// Bits a second since the last time that somebody asked.
struct RateMeter: Sendable {
    private var bytes = 0
    private var since: MediaTime?

    mutating func count(_ bytes: Int) { self.bytes += bytes }

    mutating func take(now: MediaTime) -> Double {
        defer {
            bytes = 0
            since = now
        }
        guard let since, now > since else { return 0 }
        return Double(bytes) * 8 / (now - since).inSeconds
    }
}
