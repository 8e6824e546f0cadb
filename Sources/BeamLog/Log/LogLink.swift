import BeamMedia
import BeamWire

/// The connection to a member: what was sent on it, and what has come.
struct LogLink: Sendable {
    private struct Flight: Sendable {
        var bytes: Int
        var newest: [(author: LogAuthor, number: UInt32)]
    }

    /// The peer's greeting has come: entries may be sent.
    var isGreeted = false
    /// The place in the order of arrival up to which everything was sent, or is there already.
    var cursor = 0
    /// What the peer has or was sent.
    var sent: [LogAuthor: UInt32] = [:]
    private var flights: [Flight] = []
    private(set) var inFlight = 0
    /// When it must have confirmed something; nil: there is nothing to confirm.
    private(set) var patience: MediaTime?
    private var nextBatch = MediaTime.distantPast

    /// What is only between equals.
    var equals = EqualsExchange()

    // What has come.
    private var taken: UInt32 = 0
    private var acknowledged: UInt32 = 0
    private var unacknowledgedBytes = 0
    private var nextAcknowledgement = MediaTime.distantPast
    /// Acknowledgements wait until then, because the peer writes too much.
    private var heldUntil = MediaTime.distantPast
    private(set) var isSlowed = false
    /// The peer has told this device that it is slowed.
    var isSlowedByPeer = false

    var receipts: [LogMessage.Receipt] = []
    private var nextReceipts = MediaTime.distantPast
    /// The newest partial caption of each author that was sent.
    var partials: [LogAuthor: UInt32] = [:]
    private var nextPartials = MediaTime.distantPast

    /// The peer has greeted, and has this; the entries kept here begin at `start`.
    mutating func begin(at start: Int, has: [LogAuthor: UInt32]) {
        isGreeted = true
        cursor = start
        sent = has
    }

    // MARK: Batches that are sent

    /// When a batch may be sent; nil: not before the peer has acknowledged some.
    func batchTime(now: MediaTime) -> MediaTime? {
        guard isGreeted, inFlight == 0 || inFlight + LogLimits.batchBytes <= LogLimits.window else { return nil }
        return max(now, nextBatch)
    }

    mutating func endPause() { nextBatch = .distantPast }

    mutating func sent(_ outgoing: LogStore.Outgoing, now: MediaTime) {
        let bytes = outgoing.batch.items.reduce(0) { $0 + $1.entry.cost }
        if flights.isEmpty { patience = now + LogLimits.patience }
        flights.append(Flight(bytes: bytes, newest: outgoing.newest))
        inFlight += bytes
        nextBatch = now + LogLimits.pause
        for (author, number) in outgoing.newest { sent[author] = max(sent[author] ?? 0, number) }
    }

    private var confirmed: UInt32 = 0

    /// The peer has `count` batches of this connection. Returns what it has by that; nil: so many weren't sent.
    mutating func acknowledged(_ count: UInt32, now: MediaTime) -> [(author: LogAuthor, number: UInt32)]? {
        let more = Int(count &- confirmed)
        guard more <= flights.count else { return nil }
        confirmed = count
        let done = flights.prefix(more)
        inFlight -= done.reduce(0) { $0 + $1.bytes }
        flights.removeFirst(more)
        if more > 0 { patience = flights.isEmpty ? nil : now + LogLimits.patience }
        return done.flatMap(\.newest)
    }

    /// Forgets what was sent of an author whose log was dropped.
    mutating func forget(_ author: LogAuthor) {
        sent[author] = nil
        partials[author] = nil
        equals.forget(author)
    }

    // MARK: Batches that come

    /// A batch of so many bytes has come; it isn't acknowledged before `heldUntil`. False: the peer sends without waiting
    /// for acknowledgements.
    mutating func took(_ bytes: Int, heldUntil: MediaTime) -> Bool {
        taken &+= 1
        unacknowledgedBytes += bytes
        self.heldUntil = max(self.heldUntil, heldUntil)
        return unacknowledgedBytes <= LogLimits.window + LogLimits.windowTolerance
    }

    /// When an acknowledgement is due; nil: none is.
    func acknowledgementTime(now: MediaTime) -> MediaTime? {
        taken == acknowledged ? nil : max(now, nextAcknowledgement, heldUntil)
    }

    mutating func acknowledge(now: MediaTime) -> UInt32 {
        acknowledged = taken
        unacknowledgedBytes = 0
        nextAcknowledgement = now + LogLimits.pause
        return taken
    }

    /// Whether the peer is to be told that it is slowed, or not any more; nil: nothing new.
    mutating func slowedChange(now: MediaTime) -> Bool? {
        let isNow = taken != acknowledged && heldUntil - now > LogLimits.noticeableDelay
        guard isNow != isSlowed, isNow || slowedEnd.map({ $0 <= now }) == true else { return nil }
        isSlowed = isNow
        return isNow
    }

    /// When the peer isn't slowed any more, unless more comes; nil: it isn't slowed, or is still being held. Each
    /// acknowledgement lets the next entries come, so that it is told only after a pause.
    var slowedEnd: MediaTime? {
        isSlowed && taken == acknowledged ? max(heldUntil, nextAcknowledgement) + LogLimits.calm : nil
    }

    // MARK: Receipts and partial captions

    func receiptTime(now: MediaTime) -> MediaTime? { isGreeted && !receipts.isEmpty ? max(now, nextReceipts) : nil }

    mutating func takeReceipts(now: MediaTime) -> [LogMessage.Receipt] {
        nextReceipts = now + LogLimits.pause
        let part = Array(receipts.prefix(LogLimits.keptReceipts))
        receipts.removeFirst(part.count)
        return part
    }

    func partialTime(now: MediaTime) -> MediaTime { max(now, nextPartials) }

    /// The peer has sent that partial caption, so it needn't be sent to it.
    mutating func notePartial(of author: LogAuthor, counter: UInt32) { partials[author] = counter }

    mutating func sentPartial(of author: LogAuthor, counter: UInt32, now: MediaTime) {
        partials[author] = counter
        nextPartials = now + LogLimits.partialPause
    }
}

/// How much an author writes: each entry takes some of its time, and it may be ahead of the clock by some seconds (the
/// generic cell rate algorithm, ITU-T I.371).
struct AuthorRate: Sendable {
    private let ahead: Duration
    private var arrival = MediaTime.distantPast

    /// `burst`: entries at once.
    init(burst: Int = LogLimits.burstEntries) {
        ahead = .seconds(clamping: Double(burst) / Double(LogLimits.entriesPerSecond))
    }

    /// Counts entries. Returns when they would have been in time.
    mutating func add(entries: Int, bytes: Int, now: MediaTime) -> MediaTime {
        let seconds = max(
            Double(entries) / Double(LogLimits.entriesPerSecond), Double(bytes) / Double(LogLimits.bytesPerSecond))
        arrival = max(arrival, now) + .seconds(clamping: seconds)
        return due
    }

    /// When what was counted would have been in time.
    var due: MediaTime { arrival > .distantPast ? arrival - ahead : .distantPast }

    /// Nothing that was written counts any more.
    func isIdle(now: MediaTime) -> Bool { arrival <= now }
}
