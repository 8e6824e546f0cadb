import BeamMedia

/// What one viewer gets of exact patches. A pure value.
struct PatchDelivery: Sendable {
    /// For how long after it has asked a viewer gets repairs. It asks again for what it lacks then.
    private static let repairTime = Duration.milliseconds(500)

    /// The viewer takes patches, and this host makes them.
    var isTaken = false
    /// Who gets the picture by way of it.
    var takers = PatchTakers.exact
    /// The viewer's requests for tiles.
    var requests = RequestPace()
    /// When a part of a change was sent again last.
    var sentAgain: MediaTime?
    /// Changes that are too long to leave at once, in pieces.
    private(set) var queue: [Piece] = []
    private var queuedBytes = 0
    /// The last request for hashes that counts, and whether it is still to be answered.
    private var hashesAsked: (at: MediaTime, isOpen: Bool)?

    /// Requests for hashes that come sooner after one another are ignored.
    private static let leastHashInterval = Duration.milliseconds(200)

    /// The most bytes that wait. A change that doesn't fit is treated as on a path that has no queue.
    private static let mostQueued = 384 << 10
    /// Datagrams in a piece.
    private static let pieceDatagrams = 16

    /// Some of a patch's sealed datagrams.
    struct Piece: Sendable {
        /// The change's number.
        var number: UInt32
        var queued: MediaTime
        var memory: [UInt8]
        var range: Range<Int>
        var segmentSize: Int
    }

    /// Queues a patch's datagrams, the first `length` bytes of `memory`. False if too much waits already.
    mutating func queue(
        _ number: UInt32, _ memory: [UInt8], _ length: Int, segmentSize: Int, now: MediaTime
    ) -> Bool {
        guard queuedBytes + length <= Self.mostQueued else { return false }
        queuedBytes += length
        // A copy: that memory is used again, and may be much longer.
        let memory = Array(memory[..<length])
        let step = Self.pieceDatagrams * segmentSize
        for start in stride(from: 0, to: length, by: step) {
            queue.append(
                Piece(
                    number: number, queued: now, memory: memory, range: start..<min(start + step, length),
                    segmentSize: segmentSize))
        }
        return true
    }

    /// Parts of that change are still to be sent.
    func isQueued(_ number: UInt32) -> Bool { queue.contains { $0.number == number } }

    mutating func takePiece() -> Piece? {
        guard !queue.isEmpty else { return nil }
        let piece = queue.removeFirst()
        queuedBytes -= piece.range.count
        return piece
    }

    mutating func dropQueue() { (queue, queuedBytes) = ([], 0) }

    /// The viewer has asked for hashes. False: too often.
    mutating func askedHashes(now: MediaTime) -> Bool {
        if let hashesAsked, now - hashesAsked.at < Self.leastHashInterval { return false }
        hashesAsked = (now, true)
        return true
    }

    /// Whether hashes are to be sent: once for each request, and not long after it.
    mutating func takeHashes(now: MediaTime) -> Bool {
        guard let asked = hashesAsked, asked.isOpen else { return false }
        hashesAsked?.isOpen = false
        return now - asked.at < Self.repairTime
    }

    func wantsRepair(now: MediaTime) -> Bool { requests.last.map { now - $0 < Self.repairTime } ?? false }
}
