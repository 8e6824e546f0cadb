import BeamMedia

/// What is missing, since when that is known, and when it was asked for.
struct PartRequests: Sendable {
    /// A frame of which something is missing.
    struct Entry: Sendable {
        let frame: SequenceNumber
        /// Since when something is known to be missing that hasn't been asked for.
        var since: MediaTime
        /// The parts before this one have been looked at.
        var below = 0
        /// They have been asked for first, and last, then.
        var firstAskedAt: MediaTime?
        var askedAt: MediaTime?
        var askedBelow = 0
        /// What is missing before this part is in the figures that the host gets.
        var countedBelow = 0
    }

    /// Frames with gaps that are kept in mind: as many as may be put together at a time, and as many of which nothing has come
    /// as are asked for. Who leaps in numbers makes the oldest be forgotten.
    static let mostEntries = 96

    private(set) var entries: [Entry] = []
    private(set) var timing: RequestTiming
    /// When something was asked for last, whatever it was. What is said again is said together.
    private var saidAt = MediaTime.zero

    init(timing: RequestTiming = RequestTiming()) { self.timing = timing }

    var isEmpty: Bool { entries.isEmpty }

    func entry(_ frame: SequenceNumber) -> Entry? { entries.first { $0.frame == frame } }

    /// Since when the frame is known to be incomplete, or missing.
    func since(_ frame: SequenceNumber) -> MediaTime? { entry(frame)?.since }

    /// Parts before `below` are missing; when they may be asked for.
    mutating func missing(_ frame: SequenceNumber, below: Int, now: MediaTime) -> MediaTime {
        timing.relax(now: now)
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
        let again = asked + timing.repetition
        return min(fresh, isEchoing(now: now) ? min(again, saidAt + timing.echo) : again)
    }

    /// The parts from which on to ask: all of them where that is due again, else those that were never asked for.
    mutating func ask(_ frame: SequenceNumber, now: MediaTime) -> Int {
        guard let index = entries.firstIndex(where: { $0.frame == frame }) else { return 0 }
        // As `missing` reckons: times are whole nanoseconds, durations aren't.
        let asked = entries[index].askedAt
        let isAgain = asked.map { $0 + timing.repetition <= now } ?? true
        let isEcho = isEchoing(now: now) && (saidAt + timing.echo <= now || saidAt == now)
        if isAgain, asked != nil { lossyUntil = now + Self.lossyTime }
        defer {
            if isAgain { entries[index].askedAt = now }
            entries[index].firstAskedAt = entries[index].firstAskedAt ?? now
            entries[index].askedBelow = entries[index].below
            saidAt = now
        }
        return isAgain || isEcho ? 0 : entries[index].askedBelow
    }

    /// On a path that loses much requests get lost, too, and many in a row: they are said again and again. Something had to be
    /// asked for twice a moment ago, and the answer takes far longer than from one time to the next.
    private func isEchoing(now: MediaTime) -> Bool {
        timing.isEchoUseful && lossyUntil.map { now < $0 } ?? false
    }

    private var lossyUntil: MediaTime?
    private static let lossyTime = Duration.seconds(2)

    /// A part has come that was asked for: nobody knows which time. Where requests get lost, the first is the one that leaves time
    /// for the answers.
    mutating func answered(_ frame: SequenceNumber, now: MediaTime) {
        guard let entry = entry(frame), let last = entry.askedAt else { return }
        timing.answered(after: now - (isEchoing(now: now) ? entry.firstAskedAt ?? last : last))
    }

    /// What is missing before part `below` was counted as missed.
    mutating func counted(_ frame: SequenceNumber, below: Int) {
        guard let index = entries.firstIndex(where: { $0.frame == frame }) else { return }
        entries[index].countedBelow = max(below, entries[index].countedBelow)
    }

    /// A part has come by itself that was taken for lost. True if it had been counted as missed.
    mutating func cameLate(_ frame: SequenceNumber, part: Int, now: MediaTime) -> Bool {
        guard let entry = entry(frame), part < entry.below else { return false }
        timing.cameLate(by: now - entry.since, now: now)
        return part < entry.countedBelow
    }

    /// Nothing before this frame is of interest.
    mutating func forget(before frame: SequenceNumber) {
        if !entries.isEmpty { entries.removeAll { $0.frame.distance(from: frame) < 0 } }
    }

    mutating func forget(_ frame: SequenceNumber) {
        if !entries.isEmpty { entries.removeAll { $0.frame == frame } }
    }

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    mutating func spaced(by gap: Duration) { timing.spaced(by: gap) }

    /// Some parity has come: what is missing may be repaired without a request.
    mutating func parityCame(now: MediaTime) { timing.parityCame(now: now) }

    /// What the control connection says, as long as no answer has told more.
    mutating func expect(roundTrip: Duration) { timing.expect(roundTrip: roundTrip) }
}

/// How long to wait for what, learnt from what has come.
struct RequestTiming: Sendable {
    /// What overtakes others does so by a moment, on a quiet network.
    private static let leastTolerance = Duration.milliseconds(2)
    private static let mostTolerance = Duration.milliseconds(60)
    /// Nothing more of a frame has come for so long: the rest of it is missing.
    private static let leastSilence = Duration.milliseconds(15)
    /// A network that has stopped to reorder is believed in after some of these.
    private static let forgetting = Duration.seconds(4)

    private var roundTrip = Duration.milliseconds(30)
    private var variation = Duration.milliseconds(10)
    private var isMeasured = false
    private var lateness = Duration.zero
    private var latenessAt = MediaTime.zero
    /// From one part to the next: at first as on a slow path.
    private var gap = Duration.milliseconds(15)

    /// How long what seems to be missing may still be on its way.
    private(set) var tolerance = leastTolerance

    private var lastParity: MediaTime?
    private static let parityMemory = Duration.seconds(1)
    /// Parity follows its frame; it takes no longer than this on any path that isn't a slow one.
    private static let parityTime = Duration.milliseconds(6)

    mutating func parityCame(now: MediaTime) { lastParity = now }

    /// How long to wait before something is asked for.
    func wait(now: MediaTime) -> Duration {
        let hasParity = lastParity.map { now - $0 < Self.parityMemory } ?? false
        return hasParity ? tolerance + max(Self.parityTime, gap * 2) : tolerance
    }

    /// From one request for a part to the next: a round trip, and a moment for what varies.
    var repetition: Duration { roundTrip + variation * 2 + tolerance + .milliseconds(4) }

    /// From a request to the same once more, where requests get lost. They are short; the more of them in a burst of losses, the
    /// sooner one is behind it.
    let echo = Duration.milliseconds(4)
    /// Where an answer comes sooner, the host would take an echo for another request; and where datagrams come late by much,
    /// answers do, too.
    var isEchoUseful: Bool { roundTrip > .milliseconds(16) && tolerance < .milliseconds(20) }

    /// How long a frame is waited for when nothing more of it comes. A keyframe takes a round trip, an encoder's time and its own
    /// length, of which as much gets lost as of the frame; and to ask for it is no surer than to ask for parts: a few requests are
    /// quicker than that.
    var patience: Duration { max(.milliseconds(100), min(.milliseconds(600), repetition * 7 / 2)) }

    /// How long after its last part the rest of a frame is taken for lost.
    var silence: Duration { max(Self.leastSilence, max(gap * 3, tolerance)) }

    mutating func answered(after trip: Duration) {
        // RFC 6298's smoothing.
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

    mutating func cameLate(by time: Duration, now: MediaTime) {
        relax(now: now)
        lateness = max(lateness, time)
        setTolerance()
    }

    private mutating func setTolerance() {
        let needed = lateness > .zero ? lateness * 5 / 4 + .milliseconds(1) : .zero
        tolerance = min(Self.mostTolerance, max(Self.leastTolerance, needed))
    }

    /// What came late once is forgotten again.
    mutating func relax(now: MediaTime) {
        let passed = now - latenessAt
        guard passed > Self.forgetting / 40 else { return }
        latenessAt = now
        defer { setTolerance() }
        let share = max(0, 1 - passed.inSeconds / Self.forgetting.inSeconds / 4)
        lateness = .seconds(clamping: lateness.inSeconds * share)
    }

    mutating func spaced(by time: Duration) {
        // Up at once, and down slowly.
        gap = time > gap ? time : gap - (gap - time) / 16
    }
}
