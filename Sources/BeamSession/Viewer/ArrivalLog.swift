import BeamMedia
import BeamWire

/// How a datagram arrived, or failed to, as the reassembler saw it.
enum ArrivalEvent: Hashable, Sendable {
    /// The first copy of a part has arrived. `wasMissed`: it had been counted as missed before.
    case arrived(SequenceNumber, part: UInt16, wasMissed: Bool, at: MediaTime)
    /// A retransmitted part or parity has arrived. The host is told, so that it stops counting it as in flight.
    case recoveryArrived(Feedback.Recovery, at: MediaTime)
    /// This many parts should have arrived by now and haven't.
    case missed(Int, at: MediaTime)
    /// Frame numbers start over: another session, layer or host.
    case renumbered
}

/// Collects arrivals for the reports that the host gets several times a second. The host's bandwidth estimate rests on
/// them.
///
/// Only first transmissions count; retransmissions and parity don't.
struct ArrivalLog: Sendable {
    private struct Entry: Sendable {
        var frame: SequenceNumber
        var received: UInt16
        var highest: UInt16
        var first: MediaTime
        var last: MediaTime
        /// A part has arrived since the last report that named this frame.
        var isUnreported = true
    }

    /// From the first unreported arrival to the report.
    private static let interval = Duration.milliseconds(25)
    /// The interval within `lossMemory` of a loss. Reports get lost, too: a burst of losses swallows a number of them,
    /// so frequent reports end it sooner.
    private static let intervalWithLosses = Duration.milliseconds(8)
    /// How long after a loss reports are frequent and repeat frames.
    private static let lossMemory = Duration.seconds(1)
    /// The interval of the first `firstReports` reports, because the host knows nothing of the path yet.
    private static let firstInterval = Duration.milliseconds(1)
    private static let firstReports = 4
    /// After this long without arrivals the first reports come fast again, because the path may have changed.
    private static let idleTime = Duration.milliseconds(500)
    /// Frames that wait to be reported. What doesn't fit into one report goes into the next one.
    private static let capacity = 64
    /// The newest frames that each report repeats after losses.
    private static let repeatedFrames = 2

    /// From this share of losses on, they are the cause of a stall: a picture is hardly delayed by less.
    private static let lossOfStall = 0.2

    private var entries: [Entry] = []
    private var expected: UInt32 = 0
    private var missed: UInt32 = 0
    /// The totals a second ago and two, for the share of recent losses.
    private var marks: [(expected: UInt32, missed: UInt32)] = [(0, 0), (0, 0)]
    private var markedAt: MediaTime?
    private var reports = 0
    private var lastRecovery: Feedback.Recovery?
    private var lastMiss: MediaTime?
    private var lastArrival: MediaTime?
    /// When to call `take`; nil while there is nothing to tell.
    private(set) var deadline: MediaTime?

    mutating func note(_ event: ArrivalEvent) {
        switch event {
        case .arrived(let frame, let part, let wasMissed, let now):
            arrived(frame, part: part, wasMissed: wasMissed, now: now)
        case .recoveryArrived(let recovery, let now):
            lastRecovery = recovery
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
        mark(now: now)
        if wasMissed { missed &-= 1 } else { expected &+= 1 }
        if lastArrival.map({ now - $0 > Self.idleTime }) ?? false { reports = 0 }
        lastArrival = now
        if let index = entries.lastIndex(where: { $0.frame == frame }) {
            entries[index].received &+= 1
            entries[index].highest = max(part, entries[index].highest)
            entries[index].last = now
            entries[index].isUnreported = true
        } else {
            if entries.count == Self.capacity { entries.removeFirst(Self.capacity / 4) }
            entries.append(Entry(frame: frame, received: 1, highest: part, first: now, last: now))
        }
        schedule(now: now)
    }

    private func hasLosses(now: MediaTime) -> Bool { lastMiss.map { now - $0 < Self.lossMemory } ?? false }

    private mutating func schedule(now: MediaTime) {
        guard deadline == nil else { return }
        let hasLosses = hasLosses(now: now)
        let interval =
            reports < Self.firstReports ? Self.firstInterval : hasLosses ? Self.intervalWithLosses : Self.interval
        deadline = now + interval
    }

    /// The host asked for a report at once.
    mutating func reportNow(now: MediaTime) { deadline = now }

    private mutating func missed(_ count: Int, now: MediaTime) {
        lastMiss = now
        mark(now: now)
        missed &+= UInt32(truncatingIfNeeded: count)
        expected &+= UInt32(truncatingIfNeeded: count)
    }

    private mutating func mark(now: MediaTime) {
        guard let markedAt else { return self.markedAt = now }
        guard now - markedAt >= .seconds(1) else { return }
        marks = [(expected, missed), marks[0]]
        self.markedAt = now
    }

    /// Why the picture stands still although something arrives, by what was missed within the last second or two. If
    /// nothing was expected, frames are known of which nothing at all has arrived.
    var stallCause: StallCause {
        let expected = Int(Int32(bitPattern: expected &- marks[1].expected))
        let missed = Int(Int32(bitPattern: missed &- marks[1].missed))
        return expected <= 0 || Double(missed) / Double(expected) >= Self.lossOfStall ? .loss : .tooSlow
    }

    /// The report, if one is due.
    mutating func take(now: MediaTime) -> Feedback.Report? {
        guard let deadline, deadline <= now else { return nil }
        var report = Feedback.Report(time: now, expected: expected, missed: missed)
        // After losses each report repeats the newest frames, because reports get lost, too. This ends when nothing has
        // been missed for `lossMemory`.
        let hasLosses = hasLosses(now: now)
        let firstRepeated = hasLosses ? max(0, entries.count - Self.repeatedFrames) : entries.count
        for index in entries.indices where entries[index].isUnreported || index >= firstRepeated {
            guard report.arrivals.count < Feedback.Report.mostArrivals else { break }
            entries[index].isUnreported = false
            let entry = entries[index]
            report.arrivals.append(
                Feedback.Arrival(
                    frame: entry.frame, received: entry.received, highest: entry.highest,
                    firstAge: Self.age(of: entry.first, now: now), lastAge: Self.age(of: entry.last, now: now)))
        }
        report.recovery = lastRecovery
        lastRecovery = nil
        reports += 1
        let isAllReported = !entries.contains(where: \.isUnreported)
        self.deadline = isAllReported ? hasLosses ? now + Self.intervalWithLosses : nil : now + Self.firstInterval
        return report
    }

    private static func age(of time: MediaTime, now: MediaTime) -> UInt32 {
        min(Feedback.Arrival.longestAge, UInt32(clamping: (now - time).inNanoseconds / 1000))
    }
}
