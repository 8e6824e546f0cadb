import BeamMedia

/// Congestion control for one viewer's path: estimates its bandwidth from how what was sent has arrived.
///
/// The rate is at the limit until there is evidence against that: on a local network the limit is nearly always right,
/// and the congestion window bounds the damage where it isn't. Then:
/// - *Queue.* One-way delay above its base means a standing queue. The rate falls to 0.9 of the rate of delivery, and
///   little is sent until the queue has drained. The decrease to a share of the delivered rate and the threshold that
///   adapts to jitter are GCC's (Carlucci et al. 2017, draft-ietf-rmcat-gcc-02). But the delay itself is judged, as in
///   LEDBAT (RFC 6817), not its gradient, so that no standing queue is left. A delay that persists although too little
///   was sent to sustain a queue belongs to the path.
/// - *Trains.* Each frame is a packet train, which tells the capacity. The rate grows towards it by factors, and stops
///   below it.
/// - *Loss* alone isn't congestion. It counts as congestion where trains arrive slower than they left, or where a trial
///   shows that sending less ends it. GCC would lower the rate at 10 % loss whatever its cause.
/// - *Window.* No more may be in flight than the path holds without much of a queue, as in SCReAM (RFC 8298), so that a
///   path whose rate collapses between two reports isn't flooded. The window is the bandwidth-delay product, as in BBR,
///   not one that grows and halves.
///
/// A pure value: time is an argument, there is no I/O, and nothing is allocated after initialisation.
struct PathControl: Sendable {
    /// How one frame has arrived: the viewer's report joined with what the host knows.
    struct FrameArrival: Sendable {
        /// The frame's number within its layer; ascending.
        var number: UInt32
        /// When the first and the last datagram sent so far left, by the host's clock. Retransmissions don't count.
        var firstSent: MediaTime
        var lastSent: MediaTime
        /// When the first and the last datagram that has arrived did so, by the viewer's clock: any offset, a drift of
        /// up to 1e-4. Retransmissions don't count where the viewer can tell them apart.
        var firstArrived: MediaTime
        var lastArrived: MediaTime
        /// Bytes on the wire sent by `lastSent`.
        var sentBytes: Int
        /// Bytes on the wire of the parts that have arrived so far.
        var bytes: Int
        /// Of those, the bytes that no earlier report counted.
        var newBytes: Int
        /// All of the frame has arrived.
        var isComplete: Bool
    }

    /// The content of one report. The caller may keep one and refill its arrivals.
    struct Report: Sendable {
        /// In ascending order of their numbers.
        var arrivals: [FrameArrival] = []
        /// Datagrams that should have arrived since the last report, and how many of those haven't, before recovery.
        /// `lost` is negative if more arrived late than were missing.
        var expected = 0
        var lost = 0
        /// The newest datagram that has arrived: when it left by the host's clock, when it arrived by the viewer's, and
        /// how long before the report left that was.
        var newestSent: MediaTime
        var newestArrived: MediaTime
        var holdTime: Duration
        /// Bytes that left behind that datagram in the same burst.
        var bytesBehindNewest = 0
    }

    /// Bytes of a full datagram.
    static let datagramBytes = 1200
    /// Before the first report: bytes that may leave at once, and bytes that may be in flight. Ten and twelve full
    /// datagrams: enough to measure a train, little enough for a short queue.
    static let firstBurst = 12_000
    static let firstWindow = 14_400
    /// Bytes that may leave at once on a path that is known to be fast.
    static let largestBurst = 48_000
    /// The pacing rate until a train is measured, in bits a second.
    static let firstPacingRate = 20_000_000.0
    /// The highest pacing rate in bits a second: far above a stream's rate, and low enough not to overflow the queue of
    /// an Ethernet switch's port.
    static let highestPacingRate = 200_000_000.0
    /// The lowest allowed rate in bits a second: enough for a small picture now and then.
    static let leastRate = 128_000.0

    var flight = FlightLog()
    var delay = PathDelay()
    /// Of frames only, like `trains`.
    var delivered = DeliveredRate()
    var side = SideTraffic()
    var trains = TrainRate()
    var rtt = RoundTripEstimate()
    var losses = PathLoss()
    var trial = LossTrial()
    var growth = RateGrowth()
    /// A queue that is being drained; nil if there is none.
    var congestion: Congestion?
    /// Bytes of frames that have arrived.
    private(set) var arrived: Int64 = 0
    /// How often a queue was seen.
    private(set) var congestions = 0
    /// Its share of a bottleneck that others use, too: the bandwidth estimate is that. Nil: it has none.
    private(set) var share: SharedBottleneck.Share?
    /// The bandwidth estimate, and its upper limit, in bits a second.
    var allowed: Double
    var highest: Double
    /// Since when loss has been worth examining.
    var lossySince: MediaTime?
    /// Reports about what left before this are ignored: a silence ended there.
    var validFrom = MediaTime(nanoseconds: .min)
    /// The newest frame of which a part has arrived, and when the last of those parts left.
    var newestFrame: UInt32?
    private var newestLeft = MediaTime.zero
    private var lastReport: MediaTime?
    /// Nothing was in flight for `idleTime`, and of what was sent since then only `arrivedAfterIdle` bytes have arrived.
    private var isAfterIdle = false
    private var arrivedAfterIdle = 0
    /// Since when the path is silent; nil if it isn't.
    private var silence: MediaTime?
    /// All that was in flight was taken for lost since the last report.
    private var hasGivenUp = false

    /// `limit`: the most bits a second on the wire that are ever wanted: the options' rate, with room for parity.
    init(limit: Int) {
        highest = max(Self.leastRate, Double(limit))
        allowed = highest
    }

    /// The most bits a second that are ever wanted.
    var limit: Int {
        get { Int(clamping: highest) }
        set {
            let wasBound = isBound
            highest = max(Self.leastRate, Double(newValue))
            allowed = wasBound ? min(allowed, highest) : highest
        }
    }

    /// Sets the path's share of a bottleneck that others use, too; nil: its own estimate counts again.
    mutating func useShare(_ share: SharedBottleneck.Share?) {
        self.share = share
        if let share { allowed = max(Self.leastRate, min(share.rate, highest)) }
    }

    mutating func noteCongestion() { congestions &+= 1 }

    // MARK: Inputs

    /// Something was sent to this viewer; `bytes` on the wire.
    mutating func sent(bytes: Int, now: MediaTime) {
        if flight.inFlight == 0, let lastReport, now - lastReport > Self.idleTime {
            isAfterIdle = true
            arrivedAfterIdle = 0
        }
        flight.send(bytes, now: now)
        growth.sent(bytes)
        // Probes during a silence don't count as in flight.
        if silence != nil { flight.giveUp() }
    }

    /// Something was sent that no frame's report counts: `rate` bits a second of it at present.
    mutating func sentBeside(bytes: Int, rate: Int, now: MediaTime) {
        side.sent(bytes: bytes, rate: rate, now: now)
        growth.sent(bytes)
    }

    mutating func reported(_ report: Report, now: MediaTime) {
        if let silence {
            self.silence = nil
            resume(after: now - silence, now: now)
        }
        flight.arrived(sentAt: report.newestSent, bytesBehind: report.bytesBehindNewest, now: now)
        hasGivenUp = false
        lastReport = now
        arrivedAfterIdle += report.arrivals.reduce(0) { $0 + $1.newBytes }
        if arrivedAfterIdle >= Self.idleProof { isAfterIdle = false }
        let roundTrip = (now - report.newestSent - report.holdTime).inSeconds
        let isValid = report.newestSent >= validFrom
        if isValid {
            rtt.add(roundTrip, now: now)
            losses.add(expected: report.expected, lost: report.lost, now: now)
            trial.counted(expected: report.expected, lost: report.lost, now: now)
        }
        for index in report.arrivals.indices {
            take(report.arrivals[index], isNewest: index == report.arrivals.count - 1, now: now)
        }
        guard isValid else { return }
        delay.add(sent: report.newestSent, arrived: report.newestArrived, now: now)
        judgeQueue(now: now)
        if congestion == nil { judgeLoss(now: now) }
        if congestion == nil, !trial.isRunning { grow(now: now) }
    }

    /// The viewer has given up all that is in flight.
    mutating func gaveUp() {
        guard silence == nil else { return }
        flight.giveUp()
        flight.answered()
    }

    /// A datagram has arrived that is in no frame's report (a retransmission or parity): what had left before `time` is
    /// no longer in flight.
    mutating func heard(sentBefore time: MediaTime, now: MediaTime) {
        guard silence == nil else { return }
        flight.arrived(sentAt: time, now: now)
        hasGivenUp = false
    }

    private mutating func take(_ frame: FrameArrival, isNewest: Bool, now: MediaTime) {
        guard frame.firstSent >= validFrom else { return }
        // The rest of the frame left after a pause at the host, so the idle time before it isn't counted.
        let isLater =
            newestFrame == frame.number && (frame.lastSent - newestLeft).inSeconds > DeliveredRate.pause
        arrived += Int64(frame.newBytes)
        delivered.add(
            frame.newBytes, first: isLater ? frame.lastArrived : frame.firstArrived, last: frame.lastArrived)
        if newestFrame.map({ Int32(bitPattern: frame.number &- $0) > 0 }) ?? true {
            newestFrame = frame.number
            delay.add(sent: frame.firstSent, arrived: frame.firstArrived, now: now)
        }
        if newestFrame == frame.number { newestLeft = frame.lastSent }
        trains.add(
            frame, isOver: frame.isComplete || !isNewest, current: allowed, jitter: delay.jitter, now: now)
    }

    /// The viewer gets another layer, whose frames are numbered by themselves.
    mutating func layerChanged() { newestFrame = nil }

    /// The viewer's clock has jumped or its reports contradict each other: discards all that was derived from its
    /// clock. The rate stays; the next reports show whether it is right.
    mutating func forgetClock(now: MediaTime) {
        delay = PathDelay()
        delivered.forget()
        if congestion != nil {
            congestion = nil
            growth.restart(now: now)
        }
    }

    // MARK: Silence

    /// How long nothing may be received while something is in flight, before the path counts as silent.
    private var silenceTimeout: Duration {
        guard let smoothed = rtt.smoothed else { return .seconds(1) }
        return .seconds(clamping: min(1, max(0.3, 0.1 + 2 * (smoothed + 4 * rtt.variation))))
    }

    /// How long until unanswered data is taken for lost, so that it doesn't fill the congestion window: RFC 6298's
    /// timeout (smoothed round trip + 4 variations), plus 60 ms.
    private var tailTimeout: Duration {
        guard let smoothed = rtt.smoothed else { return silenceTimeout }
        return min(silenceTimeout, .seconds(clamping: 0.06 + smoothed + 4 * rtt.variation))
    }

    /// When to call `timePassed`.
    var deadline: MediaTime? {
        guard silence == nil, flight.inFlight > 0, let since = flight.unansweredSince else { return nil }
        return since + (hasGivenUp ? silenceTimeout : tailTimeout)
    }

    mutating func timePassed(now: MediaTime) {
        guard let deadline, deadline <= now, let since = flight.unansweredSince else { return }
        flight.giveUp()
        hasGivenUp = true
        guard now >= since + silenceTimeout else { return }
        fallSilent(since: since, now: now)
    }

    private mutating func fallSilent(since: MediaTime, now: MediaTime) {
        silence = since
        validFrom = now
        congestion = nil
        if let before = trial.cancel() { allowed = min(highest, before) }
    }

    /// The path is taken for dead, and what was in flight for lost. Only a small probe each 100 ms is to be sent until
    /// a report comes.
    var isSilent: Bool { silence != nil }

    /// A report has come.
    var hasAnswered: Bool { lastReport != nil }

    /// The bandwidth estimate rests on reports, not on the initial assumption.
    var isMeasured: Bool { lastReport != nil && trains.rate != nil }

    /// Reports come again after a silence; the path is probably as it was.
    private mutating func resume(after silence: Duration, now: MediaTime) {
        if silence > .seconds(1), isBound { allowed = max(Self.leastRate, allowed / 2) }
        delay.forgetSamples()
        delivered.forget()
        forgetLosses(now: now)
        growth.restart(now: now)
    }

    // MARK: Outputs

    /// The bandwidth estimate in bits a second, for everything on the wire: frames, parity, retransmissions.
    var rate: Int { Int(clamping: allowed) }

    /// What is left for frames, in bits a second.
    func frameRate(now: MediaTime) -> Double { frameRate(of: allowed, now: now) }

    /// What is left for frames of so many bits a second.
    func frameRate(of all: Double, now: MediaTime) -> Double {
        max(all * Self.leastFrameShare, all - side.rate(now: now))
    }

    /// The share that frames keep, so that something is seen.
    private static let leastFrameShare = 0.25

    /// The rate at which all arrives, in bits a second: frames as measured, the rest as sent.
    func arrivingRate(now: MediaTime) -> Double? { delivered.rate(over: 0.3).map { $0 + side.rate(now: now) } }

    /// What trains tell of the whole path, in bits a second: frames share it with what is sent between their datagrams.
    func trainRate(now: MediaTime) -> Double? { trains.rate.map { $0 + side.rate(now: now) } }

    /// The path bounds the rate, not the limit.
    var isBound: Bool { allowed < highest }

    /// The pacing rate of a frame's datagrams, in bits a second.
    var pacingRate: Int {
        if let share { return Int(clamping: min(max(share.pace, Self.leastRate), Self.highestPacingRate)) }
        guard let train = trains.rate else {
            return Int(clamping: max(allowed * 1.25, min(Self.firstPacingRate, Self.highestPacingRate)))
        }
        // Slightly above the path's rate, so that trains still measure it, without overflowing a short queue.
        if isBound, growth.isCareful {
            let known = trains.isStretched && !growth.distrustsTrains && !growth.isMisled ? 1.05 * train : 0
            return Int(clamping: min(max(1.1 * allowed, known), Self.highestPacingRate))
        }
        let distrusts = growth.distrustsTrains || growth.isMisled
        let pace = distrusts ? 4 * allowed : max(1.5 * train, 1.25 * allowed)
        return Int(clamping: max(allowed, min(pace, Self.highestPacingRate)))
    }

    /// Bytes that may leave at once after a pause; one datagram always may.
    var burst: Int {
        if share != nil { return 2 * Self.datagramBytes }
        guard trains.rate != nil else { return Self.firstBurst }
        let burst = isBound && growth.isCareful ? 0 : pacingRate / 8 / 200
        return min(Self.largestBurst, max(2 * Self.datagramBytes, burst))
    }

    /// The most bytes that may be in flight. At that, nothing more is sent and the encoder is held.
    var congestionWindow: Int {
        if isSilent { return 0 }
        // After a rest the path may have changed: only as much as a short queue holds is sent until it is answered.
        return isAfterIdle ? min(fullWindow, Self.windowAfterIdle) : fullWindow
    }

    /// After an idle time of this length, only `windowAfterIdle` bytes may be in flight until `idleProof` bytes have
    /// arrived.
    private static let idleTime = Duration.seconds(1)
    private static let windowAfterIdle = 32_000
    private static let idleProof = 8 * datagramBytes

    private var fullWindow: Int {
        // Seconds between two reports of the viewer.
        let report = 0.025
        let baseDelay = rtt.minimum + report + delay.jitter
        if congestion != nil { return max(6 * Self.datagramBytes, Int(clamping: allowed * (baseDelay + 0.02) / 8)) }
        guard let train = trains.rate else { return Self.firstWindow }
        // A path far faster than the stream mustn't make a keyframe wait for the window.
        let carried = !isBound && train > 3 * allowed ? min(train, Self.highestPacingRate) : allowed
        return max(10 * Self.datagramBytes, Int(clamping: carried * (baseDelay + 0.06) / 8))
    }

    /// Bytes that are in flight, or whose arrival isn't reported yet.
    var inFlight: Int { flight.inFlight }

    /// Bytes left in the congestion window; negative if more is in flight than it allows.
    var windowSpace: Int { congestionWindow - inFlight }

    /// `pacingRate` and `burst`.
    var pace: (rate: Int, burst: Int) { (pacingRate, burst) }

    /// Smoothed; nil before the first report.
    var roundTrip: Duration? { rtt.smoothed.map { .seconds(clamping: $0) } }

    /// The minimum of the last 10 s, so without a queue of this stream.
    var leastRoundTrip: Duration { .seconds(clamping: rtt.minimum) }

    /// The share of datagrams lost before recovery, smoothed.
    var loss: Double { losses.share }
}
