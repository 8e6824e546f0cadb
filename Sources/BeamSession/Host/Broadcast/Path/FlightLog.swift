import BeamMedia

/// The bytes sent to a viewer, and how many of them are in flight.
///
/// What was sent before something that has arrived is no longer in flight: it has arrived or is lost (SCReAM, RFC 8298,
/// counts alike, up to the highest acknowledged sequence number). So a lost datagram doesn't hold the congestion window
/// for long; one that was only overtaken is counted as arrived a moment early.
struct FlightLog: Sendable {
    /// Bytes that left within `batchTime`, short enough that `end` serves as the time of all of them.
    private struct Batch: Sendable {
        var begin = MediaTime.zero
        var end = MediaTime.zero
        var total: Int64 = 0
    }

    /// Bytes that leave within this time share one entry, so that 512 entries suffice for half a second of sending.
    private static let batchTime = Duration.milliseconds(1)

    private var batches = Ring<Batch>(capacity: 512, filler: Batch())
    /// Bytes sent since the beginning.
    private(set) var sent: Int64 = 0
    /// Of those, the bytes that have arrived or are lost.
    private var resolved: Int64 = 0
    /// Since when what is in flight is unanswered; nil if nothing is in flight.
    private(set) var unansweredSince: MediaTime?

    /// Bytes that are in flight, or whose arrival isn't reported yet.
    var inFlight: Int { Int(sent - resolved) }

    mutating func send(_ bytes: Int, now: MediaTime) {
        if unansweredSince == nil { unansweredSince = now }
        sent += Int64(bytes)
        if !batches.isEmpty, now - batches[back: 0].begin < Self.batchTime {
            batches[back: 0].end = max(batches[back: 0].end, now)
            batches[back: 0].total = sent
        } else {
            batches.append(Batch(begin: now, end: now, total: sent))
        }
    }

    /// A datagram that left at `time` has arrived; `bytesBehind` bytes left behind it in the same burst.
    mutating func arrived(sentAt time: MediaTime, bytesBehind: Int = 0, now: MediaTime) {
        resolve(sentAt: time, bytesBehind: bytesBehind)
        unansweredSince = sent == resolved ? nil : now
    }

    private mutating func resolve(sentAt time: MediaTime, bytesBehind: Int) {
        var back = 0
        while back < batches.count {
            let batch = batches[back: back]
            if batch.total <= resolved { return }
            if batch.end <= time {
                resolved = max(resolved, batch.total - Int64(max(0, bytesBehind)))
                return
            }
            back += 1
        }
    }

    /// The viewer has answered, though nothing of this was reported as arrived.
    mutating func answered() { unansweredSince = nil }

    /// Takes all that is in flight for lost. `unansweredSince` stays: what is sent next is unanswered since then, too.
    mutating func giveUp() { resolved = sent }
}
