import BeamMedia
import BeamWire

/// A viewer's sound as it arrives: passes on each packet once, counts what is missing, and asks for it again.
///
/// A packet is missing when a later one has come, or, so that a retransmission comes in time, when it is late: the host
/// sends one every 10 ms until it says that silence follows. A pure value; memory is bounded.
struct SoundReceiver: Sendable {
    private struct Missing: Sendable {
        var number: UInt32
        /// Since when it is missed, when it was asked for last, and how often.
        var since: MediaTime
        var asked: MediaTime?
        var tries = 0
        /// No later packet has come: it may not have been sent.
        var isGuess: Bool
    }

    /// Packets that may still come: 640 ms.
    private static let window: UInt32 = 64
    /// A packet that is missing for so long comes no more.
    private static let patience = Duration.milliseconds(300)
    /// How many packets that nothing tells of are asked for: the host may have stopped.
    private static let mostGuesses = 3
    private static let mostTries = 6
    /// Missing packets that are remembered, so that a host whose numbers jump doesn't use memory.
    private static let mostMissing = 128
    /// From this round trip on nothing is asked for: sound would have to wait longer for it than repeats take.
    private static let longestTrip = Duration.milliseconds(30)
    /// The least time that a packet may be late before it is asked for, and from one request to the next.
    private static let leastLateness = Duration.milliseconds(2)
    private static let leastPause = Duration.milliseconds(5)
    /// For so long after a loss, packets are asked for as soon as they are late. Before that it isn't worth waking up for.
    private static let lossMemory = Duration.seconds(30)
    /// From one report to the next while sound comes; sooner if something is asked for.
    private static let reportInterval = Duration.milliseconds(200)
    /// What a single step of the numbers may be; more means that the host has begun anew.
    private static let longestStep: Int32 = 3_000

    private(set) var statistics = SoundArrivals()
    private var newest: UInt32?
    /// Bit i: the packet i before the newest has come.
    private var seen: UInt64 = 0
    private var missing: [Missing] = []
    /// The newest packet was followed by silence.
    private var hasEnded = false
    /// The transit time of the fastest of recent packets by two unrelated clocks, and how much others exceed it, smoothed.
    private var leastTransit: Duration?
    private var jitter = Duration.zero
    /// When the packet after the newest one is late.
    private var lateAt: MediaTime?
    private var lastLoss: MediaTime?
    private var guesses = 0
    private var reportAt: MediaTime?
    /// Something has come since the last report.
    private var hasNews = false

    /// The round trip, as far as it is known.
    var roundTrip: Duration?

    /// Packets that are missed at present.
    var missingCount: Int { missing.count }

    /// Another session: its numbers and its clock have nothing to do with those before. The counts go on.
    mutating func restart() {
        let (statistics, roundTrip) = (self.statistics, self.roundTrip)
        self = SoundReceiver()
        self.statistics = statistics
        self.roundTrip = roundTrip
    }

    // MARK: Packets

    /// Takes a datagram's plaintext; `deliver` gets each packet that is new. False if it is malformed.
    mutating func insert(
        _ plaintext: UnsafeRawBufferPointer, now: MediaTime, deliver: (SoundDatagram.Entry) -> Void
    ) -> Bool {
        // Entries come with the newest first; older ones tell of no loss, as that is what they repair.
        var isFirst = true
        var new: [SoundDatagram.Entry] = []
        let isValid = SoundDatagram.read(plaintext) { entry in
            defer { isFirst = false }
            let isNew = take(entry, isRepeat: !isFirst || entry.flags.contains(.retransmission), now: now)
            if isNew { new.append(entry) }
        }
        // In the order of their times.
        for entry in new.reversed() { deliver(entry) }
        return isValid
    }

    private mutating func take(_ entry: SoundDatagram.Entry, isRepeat: Bool, now: MediaTime) -> Bool {
        hasNews = true
        reportAt = reportAt ?? now + Self.reportInterval
        guard let newest else {
            begin(with: entry, now: now)
            return true
        }
        let step = Int32(bitPattern: entry.number &- newest)
        if abs(Int64(step)) > Int64(Self.longestStep) {
            begin(with: entry, now: now)
            return true
        }
        if step > 0 {
            advance(by: UInt32(step), isRepeat: isRepeat, now: now)
            follow(entry, isRepeat: isRepeat, now: now)
            return true
        }
        let age = UInt32(-Int64(step))
        guard age < Self.window, seen & (1 << UInt64(age)) == 0 else {
            statistics.duplicates &+= 1
            return false
        }
        seen |= 1 << UInt64(age)
        statistics.packets &+= 1
        if let index = missing.firstIndex(where: { $0.number == entry.number }) {
            missing.remove(at: index)
            // It was merely late, or it was lost and is repaired.
            if isRepeat { statistics.recovered &+= 1 } else { statistics.missed &-= 1 }
        }
        return true
    }

    /// The first packet, or the first one of numbers that have nothing to do with those before.
    private mutating func begin(with entry: SoundDatagram.Entry, now: MediaTime) {
        newest = entry.number
        // Packets before it were sent before this viewer listened, or are repeated in this datagram.
        seen = 1
        missing.removeAll()
        leastTransit = nil
        statistics.packets &+= 1
        statistics.expected &+= 1
        follow(entry, isRepeat: false, now: now)
    }

    private mutating func advance(by step: UInt32, isRepeat: Bool, now: MediaTime) {
        guard let last = newest else { return }
        newest = last &+ step
        seen = step < Self.window ? seen << UInt64(step) | 1 : 1
        statistics.packets &+= 1
        statistics.expected &+= step
        // By a repeat alone: its own first transmission was lost, too.
        let missed = step - 1 + (isRepeat ? 1 : 0)
        statistics.missed &+= missed
        statistics.everMissed &+= UInt64(missed)
        if step > 1 { lastLoss = now }
        for index in missing.indices { missing[index].isGuess = false }
        let first = max(1, Int64(step) - Int64(Self.window))
        for offset in first..<Int64(step) {
            let number = last &+ UInt32(offset)
            if !missing.contains(where: { $0.number == number }) {
                missing.append(Missing(number: number, since: now, isGuess: false))
            }
        }
        // What was guessed has come.
        missing.removeAll { $0.number == newest }
        guard missing.count > Self.mostMissing else { return }
        statistics.lost &+= UInt32(missing.count - Self.mostMissing)
        missing.removeFirst(missing.count - Self.mostMissing)
    }

    /// The newest packet has come: when is the next one late?
    private mutating func follow(_ entry: SoundDatagram.Entry, isRepeat: Bool, now: MediaTime) {
        hasEnded = entry.flags.contains(.ends)
        guesses = 0
        missing.removeAll { $0.isGuess }
        if !isRepeat {
            let transit = now - entry.time
            // It follows slowly when the least transit grows, as when the clocks drift.
            let least = leastTransit.map { min($0 + .microseconds(5), transit) } ?? transit
            leastTransit = least
            jitter = jitter + ((transit - least) - jitter) / 16
        }
        let loses = lastLoss.map { now - $0 < Self.lossMemory } ?? false
        lateAt = hasEnded || !loses ? nil : leastTransit.map { entry.time + SoundBlock.duration + $0 + lateness }
    }

    private var lateness: Duration { max(Self.leastLateness, jitter * 4) }

    // MARK: Reports and requests

    private var mayAsk: Bool { roundTrip.map { $0 <= Self.longestTrip } ?? false }
    private var pause: Duration { max(Self.leastPause, (roundTrip ?? .zero) * 5 / 4) }

    /// When to call `takeFeedback`; nil while there is nothing to tell.
    var deadline: MediaTime? {
        var next = hasNews ? reportAt : nil
        func consider(_ time: MediaTime?) {
            if let time { next = min(next ?? time, time) }
        }
        if mayAsk { consider(lateAt) }
        for one in missing {
            consider(one.since + Self.patience)
            if mayAsk, one.tries < Self.mostTries { consider(one.asked.map { $0 + pause } ?? one.since) }
        }
        return next
    }

    /// What the host is to be told now; nil: nothing.
    mutating func takeFeedback(now: MediaTime) -> Feedback.Sound? {
        if let late = lateAt, late <= now, mayAsk { guess(now: now) }
        for one in missing where !one.isGuess && one.since + Self.patience <= now { statistics.lost &+= 1 }
        missing.removeAll { $0.since + Self.patience <= now }
        var asked: [UInt32] = []
        if mayAsk {
            for index in missing.indices where asked.count < Feedback.Sound.mostMissing {
                guard missing[index].tries < Self.mostTries,
                    missing[index].asked.map({ $0 + pause <= now }) ?? true
                else { continue }
                missing[index].asked = now
                missing[index].tries += 1
                asked.append(missing[index].number)
            }
        }
        let isDue = hasNews && reportAt.map { $0 <= now } ?? false
        guard isDue || !asked.isEmpty else { return nil }
        reportAt = now + Self.reportInterval
        hasNews = false
        statistics.requested &+= UInt64(asked.count)
        return Feedback.Sound(
            expected: statistics.expected, missed: statistics.missed, lost: statistics.lost, missing: asked)
    }

    /// The next packet is late: asks for it, and looks out for the one after it.
    private mutating func guess(now: MediaTime) {
        guard let newest, !hasEnded, guesses < Self.mostGuesses else {
            lateAt = nil
            return
        }
        guesses += 1
        let number = newest &+ UInt32(guesses)
        if missing.count < Self.mostMissing, !missing.contains(where: { $0.number == number }) {
            missing.append(Missing(number: number, since: now, isGuess: true))
        }
        lateAt = guesses < Self.mostGuesses ? max(now, lateAt ?? now) + SoundBlock.duration : nil
    }
}

/// How the sound has arrived, in packets of 10 ms since the viewer started. What the host is told wraps around.
public struct SoundArrivals: Hashable, Sendable {
    /// Packets that came, in whatever way; those that came more than once; those sent, as far as is known.
    public var packets: UInt64 = 0
    public var duplicates: UInt64 = 0
    public var expected: UInt32 = 0
    /// Packets that were missing when a later one had come, without those that were merely late; those that came by a
    /// repeat or a retransmission; those that came in no way; and requests.
    public var missed: UInt32 = 0
    public var recovered: UInt64 = 0
    public var lost: UInt32 = 0
    public var requested: UInt64 = 0
    /// As `missed`, with those that were merely late: it never goes back.
    public var everMissed: UInt64 = 0

    public init() {}
}
