import BeamMedia

/// What one viewer's path carries, from how what was sent has arrived.
///
/// The rate is at the limit until there is evidence against it: on a local network it is nearly always right, and a window
/// keeps the damage small where it isn't. Then:
/// - *Queue.* Growth of one-way delay above its base means that a queue stands. The rate falls to 0.9 of what was
///   delivered meanwhile, and little leaves until the queue has drained. From GCC (Carlucci et al. 2017, draft-ietf-rmcat-gcc-02)
///   are the decrease to a share of the delivered rate and the threshold that follows jitter; but the delay itself is judged,
///   as LEDBAT (RFC 6817) does, not its gradient, so that no standing queue is left. A delay that doesn't go although so
///   little was sent that it would have to is the path's, not ours.
/// - *Trains.* Each frame is a packet train, which tells the capacity: the rate follows it up by factors, and stops below it.
/// - *Loss* alone isn't congestion. It is where trains arrive slower than they left, or where sending less ends it: that
///   is tried. GCC would lower the rate at 10 % loss whatever its cause.
/// - *Window.* No more may be on its way than the path holds without much of a queue, as in SCReAM (RFC 8298): so a path that
///   collapses between two reports is not flooded. BBR's bandwidth-delay product serves, not a window that grows and halves.
///
/// Pure: time comes in, nothing goes out; no memory is allocated after the beginning.
struct PathControl: Sendable {
    /// What the viewer tells about a frame that was sent to it, joined with what the host knows.
    struct FrameArrival: Sendable {
        /// Counts up; of one layer.
        var number: UInt32
        /// When the first and the last of its datagrams left that have left so far, on the host's clock. What was sent again
        /// doesn't count.
        var firstSent: MediaTime
        var lastSent: MediaTime
        /// When the first and the last one arrived of those that have, on the viewer's clock: any offset, a drift of up to
        /// 1e-4. What had been asked for again doesn't count, where the viewer can tell.
        var firstArrived: MediaTime
        var lastArrived: MediaTime
        /// Bytes on the wire that have left by `lastSent`.
        var sentBytes: Int
        /// Bytes on the wire of the parts that have arrived so far.
        var bytes: Int
        /// Of those, the ones that no earlier report told about.
        var newBytes: Int
        /// Nothing more of it is on its way: all of it has arrived.
        var isComplete: Bool
    }

    /// What came with one report. The caller may keep one and refill its arrivals.
    struct Report: Sendable {
        /// In order of their numbers.
        var arrivals: [FrameArrival] = []
        /// Datagrams that should have arrived since the last report, and those of them that haven't: before recovery. `lost`
        /// is negative where more arrived late than were missing.
        var expected = 0
        var lost = 0
        /// When the datagram left that is the newest of those that have arrived, on the host's clock; when it arrived, on the
        /// viewer's; and how long that had been when the report left.
        var newestSent: MediaTime
        var newestArrived: MediaTime
        var holdTime: Duration
        /// Bytes that left at once with that datagram, behind it.
        var newestRest = 0
    }

    /// An IP packet's worth.
    static let datagram = 1200
    /// What leaves at once before anything is known, and how much may then be on its way in all.
    static let firstBurst = 12_000
    static let firstWindow = 14_400
    /// What leaves at once on a path that is known to be fast.
    static let largestBurst = 48_000
    static let firstPacing = 20_000_000.0
    /// What suits an Ethernet switch: far above a stream's rate, gentle enough for the queue of one of its ports.
    static let fastest = 200_000_000.0
    /// The rate never falls below that: a small picture, now and then.
    static let leastRate = 128_000.0

    var flight = FlightLog()
    var delay = PathDelay()
    var delivered = DeliveredRate()
    var trains = TrainRate()
    var rtt = RoundTripEstimate()
    var losses = PathLoss()
    var trial = LossTrial()
    var growth = RateGrowth()
    /// A queue that is being drained.
    var congestion: Congestion?
    /// Bits a second.
    var allowed: Double
    var highest: Double
    /// Since when more than a little has been lost.
    var lossySince: MediaTime?
    /// Nothing that left before then counts: a silence ended there.
    var validFrom = MediaTime(nanoseconds: .min)
    /// The newest frame of which something has arrived, and when the last part of it left that has.
    var newestFrame: UInt32?
    private var newestLeft = MediaTime.zero
    private var lastReport: MediaTime?
    /// Nothing was sent for a while, and of what is sent now no more than `proven` bytes have arrived yet.
    private var isAfterRest = false
    private var proven = 0
    /// Since when nothing has been heard.
    private var silence: MediaTime?
    /// What was on its way counts as lost since the last report.
    private var hasGivenUp = false

    /// `limit`: bits a second that are ever wanted, on the wire; what the options ask for, with room for parity.
    init(limit: Int) {
        highest = max(Self.leastRate, Double(limit))
        allowed = highest
    }

    /// Bits a second that are ever wanted.
    var limit: Int {
        get { Int(clamping: highest) }
        set {
            let wasBound = isBound
            highest = max(Self.leastRate, Double(newValue))
            allowed = wasBound ? min(allowed, highest) : highest
        }
    }

    // MARK: In

    /// Something left towards this viewer, whatever it was; `bytes` on the wire.
    mutating func sent(bytes: Int, now: MediaTime) {
        if flight.inFlight == 0, let lastReport, now - lastReport > Self.rest {
            isAfterRest = true
            proven = 0
        }
        flight.send(bytes, now: now)
        growth.sent(bytes)
        // What a probe in silence was isn't on its way: nothing is known about the way.
        if silence != nil { flight.giveUp() }
    }

    mutating func reported(_ report: Report, now: MediaTime) {
        if let silence {
            self.silence = nil
            resume(after: now - silence, now: now)
        }
        flight.arrived(sentAt: report.newestSent, rest: report.newestRest, now: now)
        hasGivenUp = false
        lastReport = now
        proven += report.arrivals.reduce(0) { $0 + $1.newBytes }
        if proven >= Self.proof { isAfterRest = false }
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

    /// The viewer waits for nothing of what has left any more.
    mutating func gaveUp() {
        guard silence == nil else { return }
        flight.giveUp()
        flight.answered()
    }

    /// Something has arrived that no frame's arrival tells about: what had left before then is no longer on its way.
    mutating func heard(sentBefore time: MediaTime, now: MediaTime) {
        guard silence == nil else { return }
        flight.arrived(sentAt: time, now: now)
        hasGivenUp = false
    }

    private mutating func take(_ frame: FrameArrival, isNewest: Bool, now: MediaTime) {
        guard frame.firstSent >= validFrom else { return }
        // Its rest left later, as when the window was full for a while: that the path was idle meanwhile isn't its doing.
        let isLater =
            newestFrame == frame.number && (frame.lastSent - newestLeft).inSeconds > DeliveredRate.pause
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

    /// From now on the viewer gets another layer: its frames are numbered by themselves.
    mutating func layerChanged() { newestFrame = nil }

    /// The viewer's clock isn't the one that it was, or what was told by it contradicts itself: nothing that rests on it counts
    /// any more. The rate stays; what comes from now on tells whether that is right.
    mutating func forgetClock(now: MediaTime) {
        delay = PathDelay()
        delivered.forget()
        if congestion != nil {
            congestion = nil
            growth.restart(now: now)
        }
    }

    // MARK: Silence

    /// How long nothing may be heard while something is on its way.
    private var silenceTimeout: Duration {
        guard let smoothed = rtt.smoothed else { return .seconds(1) }
        return .seconds(clamping: min(1, max(0.3, 0.1 + 2 * (smoothed + 4 * rtt.variation))))
    }

    /// How long until what was sent last, and is unanswered, is taken for lost: else it would block the window.
    private var tailTimeout: Duration {
        guard let smoothed = rtt.smoothed else { return silenceTimeout }
        return min(silenceTimeout, .seconds(clamping: 0.06 + smoothed + 4 * rtt.variation))
    }

    /// When to call `timePassed`.
    var deadline: MediaTime? {
        guard silence == nil, flight.inFlight > 0, let since = flight.since else { return nil }
        return since + (hasGivenUp ? silenceTimeout : tailTimeout)
    }

    mutating func timePassed(now: MediaTime) {
        guard let deadline, deadline <= now, let since = flight.since else { return }
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

    /// Nothing has been heard for so long that the path must be taken for dead. What was on its way is lost; nothing but a small
    /// probe each 100 ms is to leave until a report comes.
    var isSilent: Bool { silence != nil }

    /// What the path carries has been seen: what the viewer reports is evidence, not hope.
    var isMeasured: Bool { lastReport != nil && trains.rate != nil }

    /// The path is back, probably as it was.
    private mutating func resume(after silence: Duration, now: MediaTime) {
        if silence > .seconds(1), isBound { allowed = max(Self.leastRate, allowed / 2) }
        delay.forgetSamples()
        delivered.forget()
        forgetLosses(now: now)
        growth.restart(now: now)
    }

    // MARK: Out

    /// Bits a second for everything on the wire: frames, parity, what is sent again.
    var rate: Int { Int(clamping: allowed) }

    /// The path determines the rate, not the limit.
    var isBound: Bool { allowed < highest }

    /// Bits a second at which the datagrams of a frame leave.
    var pacingRate: Int {
        guard let train = trains.rate else {
            return Int(clamping: max(allowed * 1.25, min(Self.firstPacing, Self.fastest)))
        }
        // Faster than the path, so that trains tell what it carries, where that overruns no short queue.
        if isBound, growth.isCareful {
            let known = trains.isStretched && !growth.distrustsTrains ? 1.05 * train : 0
            return Int(clamping: min(max(1.1 * allowed, known), Self.fastest))
        }
        let pace = growth.distrustsTrains ? 4 * allowed : max(1.5 * train, 1.25 * allowed)
        return Int(clamping: max(allowed, min(pace, Self.fastest)))
    }

    /// Bytes that may leave at once after a pause; a datagram always may.
    var burst: Int {
        guard trains.rate != nil else { return Self.firstBurst }
        let burst = isBound && growth.isCareful ? 0 : pacingRate / 8 / 200
        return min(Self.largestBurst, max(2 * Self.datagram, burst))
    }

    /// Bytes that may be on their way. When it is full nothing more leaves, and the encoder is held.
    var congestionWindow: Int {
        if isSilent { return 0 }
        // After a rest the path may be another: as much as a short queue holds goes first, and the rest when that is answered.
        return isAfterRest ? min(fullWindow, Self.restWindow) : fullWindow
    }

    private static let rest = Duration.seconds(1)
    private static let restWindow = 32_000
    private static let proof = 8 * datagram

    private var fullWindow: Int {
        // Room for what comes between two reports, and for a little of a queue.
        let report = 0.025
        let unladen = rtt.minimum + report + delay.jitter
        if congestion != nil { return max(6 * Self.datagram, Int(clamping: allowed * (unladen + 0.02) / 8)) }
        guard let train = trains.rate else { return Self.firstWindow }
        // A path that carries far more than is wanted need not hold a keyframe.
        let carried = !isBound && train > 3 * allowed ? min(train, Self.fastest) : allowed
        return max(10 * Self.datagram, Int(clamping: carried * (unladen + 0.06) / 8))
    }

    /// Bytes that are on their way, or whose arrival hasn't been told yet.
    var inFlight: Int { flight.inFlight }

    /// Smoothed; nil before the first report.
    var roundTrip: Duration? { rtt.smoothed.map { .seconds(clamping: $0) } }

    /// The least of late: without a queue of our own making.
    var leastRoundTrip: Duration { .seconds(clamping: rtt.minimum) }

    /// The share of datagrams lost before recovery, smoothed.
    var loss: Double { losses.share }
}
