import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A path between host and viewer.
struct PathConditions {
    /// The bottleneck in bits a second, and its queue in bytes (drop-tail).
    var rate = 1e9
    var queueBytes = 1_000_000
    /// Bytes that pass at full speed after a pause, as through a token bucket.
    var bucketBytes = 0.0
    /// One way, in seconds.
    var delay = 0.001
    /// Up to this many seconds more, evenly distributed. 98 % of the datagrams keep their order.
    var jitter = 0.0
    var loss = 0.0
    /// The chances that a run of losses begins at a datagram, and that it ends (Gilbert–Elliott).
    var burstBegins = 0.0
    var burstEnds = 0.125
    var isDown = false
    /// Bits a second of a policer with a bucket of 15 kB and no queue.
    var policed: Double?
    /// How much faster the viewer's clock runs, as a fraction.
    var drift = 0.0
}

/// A stream over a simulated path in virtual time, repeatable by its seed: 30 frames a second whose size follows the
/// rate, up to what the encoder wants, with `PathControl`'s pacing and congestion window, and a viewer that reports
/// every 25 ms.
struct PathLab {
    struct Moment {
        var time: Double
        var rate: Double
        var isBound: Bool
        var isSilent: Bool
        /// Seconds that a datagram that leaves now waits in the bottleneck's queue.
        var queue: Double
        var window: Int
        var isHeld: Bool
        var sent: Int
        var dropped: Int
    }

    private struct Flying {
        var arrival: Double
        var frame: Int
        var number: Int
        var bytes: Int
        var sent: Double
    }

    private struct FrameState {
        var firstSent = 0.0
        var lastSent = 0.0
        var sentBytes = 0
        var size = 0
        var firstArrived = 0.0
        var lastArrived = 0.0
        var bytes = 0
        /// Parts that the host knows to have arrived.
        var told = 0
    }

    private struct Flight {
        var arrival: Double
        var frames: [(index: Int, bytes: Int, first: Double, last: Double)]
        var expected: Int
        var received: Int
        var newestSent: Double
        var newestArrived: Double
        var left: Double
    }

    static let tick = 0.000_5
    var control: PathControl
    var conditions: PathConditions
    /// The encoder's own bit rate, in bits a second.
    var wanted: Double
    var keyframeBytes = 0
    /// Lost parts are retransmitted a round trip and a report later, and count as parts of the frame.
    var repairs = false
    private(set) var moments: [Moment] = []
    private(set) var sentDatagrams = 0
    private(set) var droppedDatagrams = 0
    private(set) var now = 0.0
    private(set) var framesMade = 0
    private(set) var framesHeld = 0

    private var random: SeededGenerator
    private var frames: [FrameState] = []
    private var pending = 0
    private var tokens: Double
    private var nextFrame = 0.0
    private var nextReport = 0.0
    private var nextProbe = 0.0
    private var nextMoment = 0.0
    private var isDue = false
    private var busyUntil = 0.0
    private var lastArrival = 0.0
    private var lastReturn = 0.0
    private var isInBurst = false
    private var repairsDue: [(time: Double, frame: Int, size: Int)] = []
    private var bucket = (bytes: 15_000.0, time: 0.0)
    private var flying: [Flying] = []
    private var nextArrival = Double.infinity
    private var reports: [Flight] = []
    private var highest = -1
    private var received = 0
    private var newest: (sent: Double, arrived: Double)?
    private var hasNews = false
    private var toldExpected = 0
    private var toldReceived = 0

    init(limit: Int, conditions: PathConditions = PathConditions(), seed: UInt64) {
        control = PathControl(limit: limit)
        self.conditions = conditions
        wanted = Double(limit)
        random = SeededGenerator(seed: seed)
        tokens = Double(control.burst)
    }

    private static func host(_ time: Double) -> MediaTime {
        MediaTime(nanoseconds: Int64((time * 1e9).rounded()) + 7_000_000_000)
    }

    /// The viewer's clock has an offset and a drift.
    private func viewer(_ time: Double) -> MediaTime {
        MediaTime(nanoseconds: Int64((time * (1 + conditions.drift) * 1e9).rounded()) + 86_400_000_000_000)
    }

    mutating func run(for seconds: Double) {
        let end = now + seconds
        while now < end {
            step()
            now += Self.tick
        }
    }

    /// The moments of this range, in seconds.
    func during(_ range: Range<Double>) -> [Moment] { moments.filter { range.contains($0.time) } }

    private mutating func step() {
        if let deadline = control.deadline, deadline <= Self.host(now) { control.timePassed(now: Self.host(now)) }
        arrive()
        hear()
        repair()
        encode()
        send()
        if now >= nextMoment {
            nextMoment += 0.01
            moments.append(
                Moment(
                    time: now, rate: Double(control.rate), isBound: control.isBound, isSilent: control.isSilent,
                    queue: max(0, busyUntil - now), window: control.congestionWindow,
                    isHeld: pending > 0 && control.inFlight + PathControl.datagramBytes > control.congestionWindow,
                    sent: sentDatagrams, dropped: droppedDatagrams))
        }
    }

    private mutating func encode() {
        if now >= nextFrame {
            nextFrame += 1.0 / 30
            isDue = true
        }
        guard isDue, !control.isSilent else { return }
        guard pending == 0 else { return }
        isDue = false
        var size = min(wanted, Double(control.rate)) / 240 * Double.random(in: 0.8...1.2, using: &random)
        if keyframeBytes > 0 {
            size = Double(keyframeBytes)
            keyframeBytes = 0
        }
        pending = max(200, Int(size))
        framesMade += 1
        frames.append(FrameState(size: pending))
    }

    private mutating func send() {
        tokens = min(Double(control.burst), tokens + Double(control.pacingRate) / 8 * Self.tick)
        if control.isSilent {
            pending = 0
            if now >= nextProbe {
                nextProbe = now + 0.1
                frames.append(FrameState(size: 100))
                launch(100)
            }
            return
        }
        while pending > 0 {
            let size = min(pending, PathControl.datagramBytes)
            guard tokens >= Double(size), control.inFlight + size <= control.congestionWindow else { return }
            tokens -= Double(size)
            pending -= size
            launch(size)
        }
    }

    private mutating func launch(_ size: Int) {
        let index = frames.count - 1
        if frames[index].sentBytes == 0 { frames[index].firstSent = now }
        frames[index].lastSent = now
        frames[index].sentBytes += size
        transmit(size, frame: index)
    }

    private mutating func repair() {
        while let first = repairsDue.first, first.time <= now {
            repairsDue.removeFirst()
            if !control.isSilent { transmit(first.size, frame: first.frame) }
        }
    }

    /// Whether the path drops the datagram before the queue.
    private mutating func isDropped(_ size: Int) -> Bool {
        if random.chance(isInBurst ? conditions.burstEnds : conditions.burstBegins) { isInBurst.toggle() }
        if conditions.isDown || isInBurst || random.chance(conditions.loss) { return true }
        if let rate = conditions.policed {
            bucket.bytes = min(15_000, bucket.bytes + (now - bucket.time) * rate / 8)
            bucket.time = now
            if bucket.bytes < Double(size) { return true }
            bucket.bytes -= Double(size)
        }
        let backlog = max(0, busyUntil - now)
        return backlog * conditions.rate / 8 + Double(size) > Double(conditions.queueBytes)
    }

    private mutating func transmit(_ size: Int, frame index: Int) {
        control.sent(bytes: size, now: Self.host(now))
        let number = sentDatagrams
        sentDatagrams += 1
        if isDropped(size) {
            droppedDatagrams += 1
            if repairs { repairsDue.append((now + 2 * conditions.delay + 0.025, index, size)) }
            return
        }
        busyUntil = max(busyUntil, now - conditions.bucketBytes * 8 / conditions.rate)
        busyUntil += Double(size * 8) / conditions.rate
        var arrival = max(now, busyUntil) + conditions.delay
        if conditions.jitter > 0 {
            arrival += Double.random(in: 0...conditions.jitter, using: &random)
            if !random.chance(0.02) {
                arrival = max(arrival, lastArrival)
                lastArrival = arrival
            }
        }
        nextArrival = min(nextArrival, arrival)
        flying.append(Flying(arrival: arrival, frame: index, number: number, bytes: size, sent: now))
    }

    private mutating func arrive() {
        if nextArrival <= now {
            for datagram in flying.filter({ $0.arrival <= now }).sorted(by: { $0.arrival < $1.arrival }) {
                received += 1
                hasNews = true
                if datagram.number > highest {
                    highest = datagram.number
                    newest = (datagram.sent, datagram.arrival)
                }
                let index = datagram.frame
                if frames[index].bytes == 0 { frames[index].firstArrived = datagram.arrival }
                frames[index].lastArrived = datagram.arrival
                frames[index].bytes += datagram.bytes
            }
            flying.removeAll { $0.arrival <= now }
            nextArrival = flying.reduce(.infinity) { min($0, $1.arrival) }
        }
        guard hasNews, now >= nextReport, let newest else { return }
        nextReport = now + 0.025
        hasNews = false
        if conditions.isDown || random.chance(conditions.loss) { return }
        var arrival = now + conditions.delay
        if conditions.jitter > 0 {
            arrival = max(lastReturn, arrival + Double.random(in: 0...conditions.jitter, using: &random))
            lastReturn = arrival
        }
        let seen = frames.indices.suffix(12).filter { frames[$0].bytes > 0 }.map {
            (index: $0, bytes: frames[$0].bytes, first: frames[$0].firstArrived, last: frames[$0].lastArrived)
        }
        reports.append(
            Flight(
                arrival: arrival, frames: seen, expected: highest + 1, received: received, newestSent: newest.sent,
                newestArrived: newest.arrived, left: now))
    }

    private mutating func hear() {
        while let report = reports.first, report.arrival <= now {
            reports.removeFirst()
            var told = PathControl.Report(
                newestSent: Self.host(report.newestSent), newestArrived: viewer(report.newestArrived),
                holdTime: viewer(report.left) - viewer(report.newestArrived))
            told.expected = max(0, report.expected - toldExpected)
            told.lost = told.expected - max(0, report.received - toldReceived)
            toldExpected = max(toldExpected, report.expected)
            toldReceived = max(toldReceived, report.received)
            for frame in report.frames where frame.bytes > frames[frame.index].told {
                let state = frames[frame.index]
                told.arrivals.append(
                    PathControl.FrameArrival(
                        number: UInt32(frame.index), firstSent: Self.host(state.firstSent),
                        lastSent: Self.host(state.lastSent), firstArrived: viewer(frame.first),
                        lastArrived: viewer(frame.last), sentBytes: state.sentBytes, bytes: frame.bytes,
                        newBytes: frame.bytes - state.told, isComplete: frame.bytes == state.size))
                frames[frame.index].told = frame.bytes
            }
            control.reported(told, now: Self.host(now))
        }
    }
}

extension [PathLab.Moment] {
    var medianRate: Double { map(\.rate).sorted()[count / 2] }
    var leastRate: Double { map(\.rate).min() ?? 0 }
    var greatestRate: Double { map(\.rate).max() ?? 0 }
    var medianQueue: Double { map(\.queue).sorted()[count / 2] }
    var greatestQueue: Double { map(\.queue).max() ?? 0 }
    /// The share of what was sent that the path dropped.
    var loss: Double {
        guard let first, let last, last.sent > first.sent else { return 0 }
        return Double(last.dropped - first.dropped) / Double(last.sent - first.sent)
    }
    var heldShare: Double { Double(count { $0.isHeld }) / Double(Swift.max(1, count)) }
}
