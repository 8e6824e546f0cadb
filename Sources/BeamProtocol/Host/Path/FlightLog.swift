import BeamMedia

/// What has left towards a viewer, and how much of it is still on its way.
///
/// What was sent before something that has arrived isn't on its way any more: it has arrived, or it is lost (SCReAM,
/// RFC 8298, counts alike, up to the highest sequence number that was acknowledged). So a lost datagram
/// doesn't hold the window for long, and a datagram that was overtaken costs nothing but a moment's optimism.
struct FlightLog: Sendable {
    /// Bytes that left between two times: so short that its end serves as time for all of it.
    private struct Batch: Sendable {
        var begin = MediaTime.zero
        var end = MediaTime.zero
        var total: Int64 = 0
    }

    private static let batchTime = Duration.milliseconds(1)

    private var batches = Ring<Batch>(capacity: 512, filler: Batch())
    /// Bytes that have left since the beginning.
    private(set) var sent: Int64 = 0
    /// Of those, the ones that aren't on their way any more.
    private var resolved: Int64 = 0
    /// Since when there has been no answer to what is on its way; nil where nothing is.
    private(set) var since: MediaTime?

    /// Bytes that are on their way, or whose arrival hasn't been told yet.
    var inFlight: Int { Int(sent - resolved) }

    mutating func send(_ bytes: Int, now: MediaTime) {
        if since == nil { since = now }
        sent += Int64(bytes)
        if !batches.isEmpty, now - batches[back: 0].begin < Self.batchTime {
            batches[back: 0].end = max(batches[back: 0].end, now)
            batches[back: 0].total = sent
        } else {
            batches.append(Batch(begin: now, end: now, total: sent))
        }
    }

    /// Something that left at `time` has arrived; `rest` bytes left at once with it, behind it.
    mutating func arrived(sentAt time: MediaTime, rest: Int = 0, now: MediaTime) {
        resolve(sentAt: time, rest: rest)
        since = sent == resolved ? nil : now
    }

    private mutating func resolve(sentAt time: MediaTime, rest: Int) {
        var back = 0
        while back < batches.count {
            let batch = batches[back: back]
            if batch.total <= resolved { return }
            if batch.end <= time {
                resolved = max(resolved, batch.total - Int64(max(0, rest)))
                return
            }
            back += 1
        }
    }

    /// Somebody is there.
    mutating func answered() { since = nil }

    /// Nothing of it will arrive, as it seems. What leaves from now on is unanswered since then, too.
    mutating func giveUp() { resolved = sent }
}
