import BeamMedia
import BeamWire

/// The delivery to one version 2 viewer: its path's congestion control, when each part left, and its retransmissions.
struct Delivery: Sendable {
    var path: PathControl
    var retransmissions = RetransmissionQueue()
    var log = DepartureLog()
    var parity = ParityPlan()
    /// The length of the datagrams that the path carries.
    var mtu: PathMTU
    /// Paces retransmissions to the bandwidth estimate.
    private var resendBucket: TokenBucket
    private var resendRate = 0
    /// When its path became silent.
    var silentSince: MediaTime?
    /// Parts of dropped frames that were never sent, until when the viewer's reports may count them as lost.
    private var unsent: (parts: Int, until: MediaTime)?
    /// The path's rate when a late picture was dropped last; nil once a keyframe has left as a whole.
    private var lateAtRate: Int?
    /// The totals in the last report.
    private var lastTotals: (expected: UInt32, missed: UInt32)?
    /// For each reported frame, how many parts the viewer had by the last report.
    private var reported: [(frame: SequenceNumber, parts: Int)] = []
    /// The report for `path`; its memory is reused.
    private var report = PathControl.Report(newestSent: .zero, newestArrived: .zero, holdTime: .zero)
    private var lastProbe: MediaTime?
    private var clock = ReportClock()
    private var meter = RateMeter()
    /// The most frames kept in `reported`.
    private static let remembered = 64
    /// The least and the most retransmissions in one burst: a slow path takes one or two at a time. In between, as many
    /// as the path carries in `resendBurstTime` seconds.
    private static let resendBursts = 2...16
    private static let resendBurstTime = 0.01

    /// `canProbe`: the viewer acknowledges probes of the path's MTU.
    init(canProbe: Bool = false, limit: Int) {
        mtu = PathMTU(canProbe: canProbe)
        // Half as much again for parity and retransmissions.
        path = PathControl(limit: limit + limit / 2)
        resendBucket = TokenBucket(
            capacity: Self.resendBursts.upperBound * MediaLimits.datagramLength, bitsPerSecond: limit)
    }

    /// The viewer gets another layer: forgets the frames of the old one.
    mutating func layerChanged() {
        retransmissions.removeAll()
        log.removeAll()
        reported.removeAll(keepingCapacity: true)
        path.layerChanged()
    }

    /// All that is in flight or waits is dropped as too late. The viewer takes the rest of the newest frame for lost, which
    /// says nothing of the path.
    mutating func abandoned(now: MediaTime) {
        if let newest = log.newest.flatMap({ log.frame($0) }), newest.sent < newest.partCount {
            unsent = ((unsent?.parts ?? 0) + newest.partCount - newest.sent, now + Self.unsentTime)
        }
        log.forgetAll()
        retransmissions.removeAll()
    }

    /// Longer than a viewer waits for the rest of a frame.
    private static let unsentTime = Duration.seconds(2)

    /// Whether to drop a picture that takes long, for one made now. Not if the last one was dropped when the path was
    /// hardly faster: the encoder makes none that is smaller, and nothing would arrive at all.
    mutating func dropsLatePicture() -> Bool {
        if let lateAtRate, path.rate > lateAtRate / 2 { return false }
        lateAtRate = path.rate
        return true
    }

    /// A whole keyframe has left.
    mutating func keyframeSent() { lateAtRate = nil }

    /// The path carries shorter datagrams only, so what was lost tells nothing of its rate: forgets what was derived from
    /// it.
    mutating func lengthChanged() {
        path = PathControl(limit: path.limit)
        parity = ParityPlan()
        lastTotals = nil
        silentSince = nil
        (unsent, lateAtRate) = (nil, nil)
        layerChanged()
    }

    /// Datagrams were sent to the viewer: parts of a frame, parity, or retransmissions.
    mutating func sent(bytes: Int, now: MediaTime) {
        path.sent(bytes: bytes, now: now)
        meter.count(bytes)
    }

    /// Sound, a patch or the pointer was sent to the viewer. `rate`: of the sound at present, in bits a second.
    mutating func besidePicturesSent(bytes: Int, rate: Int, now: MediaTime) {
        meter.count(bytes)
        path.sentBeside(bytes: bytes, rate: rate, now: now)
    }

    /// Retransmissions are sent twice, because asking a third time would take too long. Not where the path bounds the
    /// rate: there they would displace new frames.
    var wantsDuplicates: Bool {
        !path.isBound && path.loss > 0.02 && path.roundTrip.map { $0 > Self.longTrip } ?? false
    }

    /// From this round-trip time on, retransmissions are duplicated.
    private static let longTrip = Duration.milliseconds(20)

    /// How long a request for a part that was just sent again is ignored: the retransmission can't have arrived yet.
    var resendPause: Duration { path.roundTrip.map { max(.milliseconds(2), $0 * 3 / 4) } ?? .milliseconds(30) }

    /// How long the waiting retransmissions take at the path's rate; zero if the path doesn't bound the rate.
    var resendTime: Duration {
        guard retransmissions.count > 0, path.isBound else { return .zero }
        return .seconds(
            clamping: Double(retransmissions.count * MediaLimits.datagramLength) * 8 / Double(max(1, path.rate)))
    }

    /// How much of the encoder's output the path carries, after retransmissions and parity, and the viewer wishes at most:
    /// `wish` bits a second of all that is sent.
    func layerPath(wish: Int?, now: MediaTime) -> LayerRate.Path {
        let carried = carriedPath(now: now)
        guard let wish else { return carried }
        let wished = frames(path.frameRate(of: Double(wish), now: now) * Self.wishShare)
        if case .bound(let rate) = carried { return .bound(min(rate, wished)) }
        return .bound(wished)
    }

    /// What the encoder gets of a wish, because frames exceed the rate for moments and mustn't wait for that
    /// (`SendingQuota`).
    private static let wishShare = 0.9

    private func carriedPath(now: MediaTime) -> LayerRate.Path {
        // All viewers of a bottleneck count alike, whatever one of them loses.
        if let share = path.share { return .bound(Int(clamping: share.rate * Self.payloadShare)) }
        guard path.isBound else { return path.isMeasured ? .unbound : .unknown }
        return .bound(frames(path.frameRate(now: now)))
    }

    /// What of `rate` on the wire is left for frames as the encoder makes them.
    private func frames(_ rate: Double) -> Int {
        Int(clamping: rate * Self.payloadShare / (1 + path.loss + parity.share))
    }

    /// The share of a full datagram that isn't headers.
    private static let payloadShare = Double(MediaForm.version2.payloadLength) / Double(MediaLimits.datagramLength)

    /// The most parts in one burst of retransmissions. They are paced to the path's rate, so that a viewer that asks for
    /// everything again gets no more than its path carries.
    var resendBurst: Int {
        let datagrams = Int(clamping: Double(path.rate) * Self.resendBurstTime / 8) / MediaLimits.datagramLength
        return min(max(datagrams, Self.resendBursts.lowerBound), Self.resendBursts.upperBound)
    }

    /// Returns tokens for a retransmission that wasn't sent.
    mutating func returnResend(_ bytes: Int) { resendBucket.putBack(bytes) }

    /// Takes tokens for `bytes` of retransmissions; if there are too few, returns when there will be enough.
    mutating func payResend(_ bytes: Int, now: MediaTime) -> MediaTime? {
        let rate = path.rate
        if rate != resendRate {
            resendRate = rate
            resendBucket.change(
                capacity: resendBurst * MediaLimits.datagramLength, bitsPerSecond: rate, now: now)
        }
        return resendBucket.take(bytes, now: now)
    }

    /// A probe was sent on the silent path.
    mutating func probed(now: MediaTime) { lastProbe = now }

    /// Takes the viewer's report of how frames have arrived. If its clock has jumped, the report is ignored.
    mutating func take(_ report: Feedback.Report, now: MediaTime) {
        if clock.judge(report.time, now: now) == .jumped {
            lastTotals = nil
            return path.forgetClock(now: now)
        }
        self.report.arrivals.removeAll(keepingCapacity: true)
        var newest: (sent: MediaTime, age: Duration)?
        self.report.bytesBehindNewest = 0
        for arrival in report.arrivals {
            guard let frame = log.frame(arrival.frame), Int(arrival.received) <= frame.sent,
                let departure = log.departure(of: arrival.frame, part: Int(arrival.highest)),
                // A part can't have arrived before it left.
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
                self.report.bytesBehindNewest =
                    max(0, departure.parts - 1 - Int(arrival.highest)) * frame.size.length
            }
            // All parts but the last are full.
            if parts > 1 || Int(arrival.highest) < frame.partCount - 1 {
                mtu.proved(frame.size, sent: departure.time, now: now)
            }
        }
        if let unsent, unsent.until < now { self.unsent = nil }
        count(report)
        if newest == nil, path.isSilent, let lastProbe { newest = (lastProbe, .zero) }
        if let recovery = report.recovery {
            let departure =
                recovery.part == Feedback.Recovery.parity
                ? log.frame(recovery.frame)?.paritySent
                : retransmissions.departure(of: Int(recovery.part), of: recovery.frame)
            if let departure {
                path.heard(sentBefore: departure, now: now)
                if let frame = log.frame(recovery.frame), Int(recovery.part) != frame.partCount - 1 {
                    mtu.proved(frame.size, sent: departure, now: now)
                }
            }
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
        // A viewer that restarts its counters, or counts far backwards, is taken to have lost nothing.
        let expected = Int(Int32(bitPattern: report.expected &- last.expected))
        let missed = Int(Int32(bitPattern: report.missed &- last.missed))
        guard expected >= 0, abs(missed) <= Self.mostCounted, expected <= Self.mostCounted else { return }
        let neverSent = min(unsent?.parts ?? 0, max(0, missed), expected)
        if neverSent > 0 { unsent?.parts -= neverSent }
        self.report.expected += expected - neverSent
        self.report.lost += min(missed, expected) - neverSent
    }

    /// Totals that differ by more datagrams than this can't be of one report interval.
    private static let mostCounted = 100_000

    /// Stores how many parts of a frame have arrived, and returns the number before.
    private mutating func exchange(_ parts: Int, for frame: SequenceNumber) -> Int {
        if let index = reported.lastIndex(where: { $0.frame == frame }) {
            defer { reported[index].parts = max(parts, reported[index].parts) }
            return reported[index].parts
        }
        if reported.count == Self.remembered { reported.removeFirst(Self.remembered / 4) }
        reported.append((frame, parts))
        return 0
    }

    /// The bandwidth estimate and the rate used, in kbit/s.
    mutating func rates(now: MediaTime) -> StreamState.Rates {
        StreamState.Rates(
            estimated: UInt32(clamping: path.rate / 1000),
            used: UInt32(clamping: meter.take(now: now) / 1000), isPathBound: path.isBound)
    }
}

/// Measures bits a second since the last `take`.
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
