import BeamMedia
import BeamWire

/// Which parts are missing, since when, and when each was requested.
struct PartRequests: Sendable {
    /// A frame with missing parts.
    struct Entry: Sendable {
        let frame: SequenceNumber
        /// When a part that hasn't been requested was found missing.
        var since: MediaTime
        /// Missing parts are looked for below this part number.
        var below = 0
        /// When parts of the frame were first and last requested.
        var firstAskedAt: MediaTime?
        var askedAt: MediaTime?
        var askedBelow = 0
        /// Missing parts below this number have been counted as missed in the reports.
        var countedBelow = 0
    }

    /// The most frames with gaps that are tracked: as many as are in reassembly at a time (64), and as many as are
    /// requested though nothing of them has arrived (32). Beyond that the oldest is dropped, which a host can cause
    /// only by leaps in the numbers.
    static let mostEntries = 96

    private(set) var entries: [Entry] = []
    private(set) var timing: RequestTiming
    /// When the last request of any kind was sent. Duplicates of several requests go out together.
    private var lastRequestAt = MediaTime.zero

    init(timing: RequestTiming = RequestTiming()) { self.timing = timing }

    var isEmpty: Bool { entries.isEmpty }

    func entry(_ frame: SequenceNumber) -> Entry? { entries.first { $0.frame == frame } }

    /// When the frame was found incomplete or missing.
    func since(_ frame: SequenceNumber) -> MediaTime? { entry(frame)?.since }

    /// Notes that parts below `below` are missing. Returns when to request them.
    mutating func missing(_ frame: SequenceNumber, below: Int, now: MediaTime) -> MediaTime {
        timing.forgetLateness(now: now)
        let index: Int
        if let known = entries.firstIndex(where: { $0.frame == frame }) {
            index = known
            if below > entries[index].below {
                entries[index].below = below
                if entries[index].askedBelow > 0 { entries[index].since = now }
            }
        } else {
            if entries.count >= Self.mostEntries { entries.removeFirst() }
            index = entries.count
            entries.append(Entry(frame: frame, since: now, below: below))
        }
        let entry = entries[index]
        let fresh = entry.askedBelow < entry.below ? entry.since + timing.wait(now: now) : MediaTime.distantFuture
        guard let asked = entry.askedAt else { return fresh }
        let again = asked + timing.repeatInterval
        return min(fresh, sendsDuplicates(now: now) ? min(again, lastRequestAt + timing.duplicateInterval) : again)
    }

    /// Notes a request, and returns the first part to request: 0 where the earlier request is repeated or duplicated,
    /// else the first part that was never requested.
    mutating func ask(_ frame: SequenceNumber, now: MediaTime) -> Int {
        guard let index = entries.firstIndex(where: { $0.frame == frame }) else { return 0 }
        // The same sum as in `missing`: times are whole nanoseconds, durations aren't, so another order of terms could
        // round differently.
        let asked = entries[index].askedAt
        let isAgain = asked.map { $0 + timing.repeatInterval <= now } ?? true
        let isDuplicate =
            sendsDuplicates(now: now) && (lastRequestAt + timing.duplicateInterval <= now || lastRequestAt == now)
        if isAgain, asked != nil { lossyUntil = now + Self.lossyTime }
        defer {
            if isAgain { entries[index].askedAt = now }
            entries[index].firstAskedAt = entries[index].firstAskedAt ?? now
            entries[index].askedBelow = entries[index].below
            lastRequestAt = now
        }
        return isAgain || isDuplicate ? 0 : entries[index].askedBelow
    }

    /// Whether requests are duplicated every `duplicateInterval`: something had to be requested twice within
    /// `lossyTime`, so requests get lost in bursts, and the answer takes far longer than a duplicate.
    private func sendsDuplicates(now: MediaTime) -> Bool {
        timing.allowsDuplicates && lossyUntil.map { now < $0 } ?? false
    }

    private var lossyUntil: MediaTime?
    /// How long requests are duplicated after one had to be repeated.
    private static let lossyTime = Duration.seconds(2)

    /// A requested part has arrived. Which request it answers is unknown. While requests are duplicated, the first is
    /// taken, so that the estimate leaves time for the answer.
    mutating func answered(_ frame: SequenceNumber, now: MediaTime) {
        guard let entry = entry(frame), let last = entry.askedAt else { return }
        timing.answered(after: now - (sendsDuplicates(now: now) ? entry.firstAskedAt ?? last : last))
    }

    /// Missing parts below `below` have been counted as missed.
    mutating func counted(_ frame: SequenceNumber, below: Int) {
        guard let index = entries.firstIndex(where: { $0.frame == frame }) else { return }
        entries[index].countedBelow = max(below, entries[index].countedBelow)
    }

    /// The first copy of a part has arrived late. Returns true if it had been counted as missed.
    mutating func arrivedLate(_ frame: SequenceNumber, part: Int, now: MediaTime) -> Bool {
        guard let entry = entry(frame), part < entry.below else { return false }
        timing.arrivedLate(by: now - entry.since, now: now)
        return part < entry.countedBelow
    }

    mutating func forget(before frame: SequenceNumber) {
        if !entries.isEmpty { entries.removeAll { $0.frame.distance(from: frame) < 0 } }
    }

    mutating func forget(_ frame: SequenceNumber) {
        if !entries.isEmpty { entries.removeAll { $0.frame == frame } }
    }

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    mutating func partsArrived(apart gap: Duration) { timing.partsArrived(apart: gap) }

    /// Parity has arrived: missing parts may be reconstructed without a request.
    mutating func parityArrived(now: MediaTime) { timing.parityArrived(now: now) }

    /// The control connection's round trip, used until a request has been answered.
    mutating func expect(roundTrip: Duration) { timing.expect(roundTrip: roundTrip) }
}

/// How long to wait before a part is requested, requested again, or given up; learnt from arrivals.
struct RequestTiming: Sendable {
    /// How late a part may be by reordering alone: 2 ms on a quiet network, more after parts have been late by more.
    private static let leastTolerance = Duration.milliseconds(2)
    /// The most lateness that is waited for. A part that is later than this is requested.
    private static let mostTolerance = Duration.milliseconds(60)
    /// The least time without another part after which the rest of a frame counts as missing: longer than a burst
    /// takes.
    private static let leastSilence = Duration.milliseconds(15)
    /// A quarter of the time constant with which observed lateness decays, so that the tolerance shrinks again.
    private static let latenessMemory = Duration.seconds(4)

    private var roundTrip = Duration.milliseconds(30)
    private var variation = Duration.milliseconds(10)
    private var isMeasured = false
    private var lateness = Duration.zero
    private var latenessAt = MediaTime.zero
    /// Time between two parts of a frame; begins with the value of a slow path.
    private var gap = Duration.milliseconds(15)

    /// How long to wait for a part that may only be late. Between 2 and 60 ms.
    private(set) var tolerance = leastTolerance

    private var lastParity: MediaTime?
    /// How long after the last parity more of it is expected.
    private static let parityMemory = Duration.seconds(1)
    /// Parity follows its frame within this time, unless the path is slow.
    private static let parityTime = Duration.milliseconds(6)

    mutating func parityArrived(now: MediaTime) { lastParity = now }

    /// How long to wait before a missing part is requested: longer while parity arrives, which may make the request
    /// unnecessary.
    func wait(now: MediaTime) -> Duration {
        let hasParity = lastParity.map { now - $0 < Self.parityMemory } ?? false
        return hasParity ? tolerance + max(Self.parityTime, gap * 2) : tolerance
    }

    /// Time between two requests for the same part: round trip + jitter + tolerance. A part that is only late isn't
    /// requested twice.
    var repeatInterval: Duration { roundTrip + variation * 2 + tolerance + .milliseconds(4) }

    /// Time between duplicates of a request, where requests get lost in bursts. They are short, and more of them
    /// outlast a burst sooner.
    let duplicateInterval = Duration.milliseconds(4)
    /// Not on short paths, where the host would take a duplicate for a second request; nor where parts are late, for
    /// then answers are, too.
    var allowsDuplicates: Bool { roundTrip > .milliseconds(16) && tolerance < .milliseconds(20) }

    /// How long to wait for a frame of which nothing more arrives: 3.5 requests. After that a keyframe is requested,
    /// which takes a round trip, encoding and its own length, and is no surer to arrive.
    var timeout: Duration { max(.milliseconds(100), min(.milliseconds(600), repeatInterval * 7 / 2)) }

    var silence: Duration { max(Self.leastSilence, max(gap * 3, tolerance)) }

    mutating func answered(after trip: Duration) {
        // RFC 6298, 2: SRTT and RTTVAR with gains 1/8 and 1/4.
        guard trip > .zero, trip < .seconds(3) else { return }
        guard isMeasured else {
            isMeasured = true
            roundTrip = trip
            variation = trip / 4
            return
        }
        let error = trip - roundTrip
        variation = variation * 3 / 4 + (error < .zero ? .zero - error : error) / 4
        roundTrip += error / 8
    }

    mutating func expect(roundTrip: Duration) {
        guard !isMeasured else { return }
        self.roundTrip = roundTrip
        variation = max(.milliseconds(1), roundTrip / 4)
    }

    mutating func arrivedLate(by time: Duration, now: MediaTime) {
        forgetLateness(now: now)
        lateness = max(lateness, time)
        setTolerance()
    }

    private mutating func setTolerance() {
        let needed = lateness > .zero ? lateness * 5 / 4 + .milliseconds(1) : .zero
        tolerance = min(Self.mostTolerance, max(Self.leastTolerance, needed))
    }

    /// Lets the observed lateness decay.
    mutating func forgetLateness(now: MediaTime) {
        let passed = now - latenessAt
        guard passed > Self.latenessMemory / 40 else { return }
        latenessAt = now
        defer { setTolerance() }
        let share = max(0, 1 - passed.inSeconds / Self.latenessMemory.inSeconds / 4)
        lateness = .seconds(clamping: lateness.inSeconds * share)
    }

    mutating func partsArrived(apart time: Duration) {
        // Rises at once, falls by 1/16 a sample.
        gap = time > gap ? time : gap - (gap - time) / 16
    }
}
