import BeamMedia

/// What the reassembly of frames says of how datagrams arrive.
enum ArrivalSign: Hashable, Sendable {
    /// A part has come for the first time. `wasMissed`: it had been counted as missed.
    case arrived(SequenceNumber, part: UInt16, wasMissed: Bool, at: MediaTime)
    /// A part has come that was asked for, or parity: the host is to know that it isn't on its way any more.
    case cameAgain(Feedback.Again, at: MediaTime)
    /// So many parts ought to have come by now.
    case missed(Int, at: MediaTime)
    /// The frames' numbers mean something else from now on.
    case renumbered
}

/// How what was sent has arrived, as the host is told several times a second: its estimate of the path rests on that.
///
/// Only what is sent for the first time counts, not what comes again.
struct ArrivalLog: Sendable {
    private struct Entry: Sendable {
        var frame: SequenceNumber
        var received: UInt16
        var highest: UInt16
        var first: MediaTime
        var last: MediaTime
        /// Something of it came that the host hasn't been told.
        var isNews = true
    }

    /// From something that arrives to the report of it. The first report comes sooner: the host knows nothing of the path yet.
    private static let pause = Duration.milliseconds(25)
    /// The same where something was missed a moment ago: a burst of losses takes so many reports, and not so much time.
    private static let pauseWithLosses = Duration.milliseconds(8)
    private static let memory = Duration.seconds(1)
    private static let firstPause = Duration.milliseconds(1)
    private static let firstReports = 4
    /// After this nothing is known of the path any more either.
    private static let rest = Duration.milliseconds(500)
    /// Frames at a time; more than a report holds are told in the next one.
    private static let capacity = 64
    private static let toldAgain = 2

    private var entries: [Entry] = []
    private var expected: UInt32 = 0
    private var missed: UInt32 = 0
    private var reports = 0
    private var lastAgain: Feedback.Again?
    private var lastMiss: MediaTime?
    private var lastArrival: MediaTime?
    /// When to call `take`; nil while there is nothing to tell.
    private(set) var deadline: MediaTime?

    mutating func note(_ sign: ArrivalSign) {
        switch sign {
        case .arrived(let frame, let part, let wasMissed, let now):
            arrived(frame, part: part, wasMissed: wasMissed, now: now)
        case .cameAgain(let again, let now):
            lastAgain = again
            schedule(now: now)
        case .missed(let count, let now): missed(count, now: now)
        case .renumbered: forgetFrames()
        }
    }

    private mutating func forgetFrames() {
        entries.removeAll(keepingCapacity: true)
        deadline = nil
    }

    private mutating func arrived(_ frame: SequenceNumber, part: UInt16, wasMissed: Bool, now: MediaTime) {
        if wasMissed { missed &-= 1 } else { expected &+= 1 }
        if lastArrival.map({ now - $0 > Self.rest }) ?? false { reports = 0 }
        lastArrival = now
        if let index = entries.lastIndex(where: { $0.frame == frame }) {
            entries[index].received &+= 1
            entries[index].highest = max(part, entries[index].highest)
            entries[index].last = now
            entries[index].isNews = true
        } else {
            if entries.count == Self.capacity { entries.removeFirst(Self.capacity / 4) }
            entries.append(Entry(frame: frame, received: 1, highest: part, first: now, last: now))
        }
        schedule(now: now)
    }

    private func hasLosses(now: MediaTime) -> Bool { lastMiss.map { now - $0 < Self.memory } ?? false }

    private mutating func schedule(now: MediaTime) {
        guard deadline == nil else { return }
        let hasLosses = hasLosses(now: now)
        let pause = reports < Self.firstReports ? Self.firstPause : hasLosses ? Self.pauseWithLosses : Self.pause
        deadline = now + pause
    }

    /// The host wants to know whether anything arrives at all.
    mutating func answer(now: MediaTime) { deadline = now }

    private mutating func missed(_ count: Int, now: MediaTime) {
        lastMiss = now
        missed &+= UInt32(truncatingIfNeeded: count)
        expected &+= UInt32(truncatingIfNeeded: count)
    }

    /// What has arrived since the last time, if it is time for that.
    mutating func take(now: MediaTime) -> Feedback.Report? {
        guard let deadline, deadline <= now else { return nil }
        var report = Feedback.Report(time: now, expected: expected, missed: missed)
        // Where reports get lost as well, what the last ones told is told again, and nothing but silence ends them.
        let hasLosses = hasLosses(now: now)
        let again = hasLosses ? max(0, entries.count - Self.toldAgain) : entries.count
        for index in entries.indices where entries[index].isNews || index >= again {
            guard report.arrivals.count < Feedback.Report.mostArrivals else { break }
            entries[index].isNews = false
            let entry = entries[index]
            report.arrivals.append(
                Feedback.Arrival(
                    frame: entry.frame, received: entry.received, highest: entry.highest,
                    firstAge: Self.age(of: entry.first, now: now), lastAge: Self.age(of: entry.last, now: now)))
        }
        report.again = lastAgain
        lastAgain = nil
        reports += 1
        let isAllTold = !entries.contains(where: \.isNews)
        self.deadline = isAllTold ? hasLosses ? now + Self.pauseWithLosses : nil : now + Self.firstPause
        return report
    }

    private static func age(of time: MediaTime, now: MediaTime) -> UInt32 {
        min(Feedback.Arrival.longestAge, UInt32(clamping: (now - time).inNanoseconds / 1000))
    }
}
