import BeamMedia

/// The frames that wait to be sent, and the pace at which their datagrams leave.
///
/// A frame is cut into datagrams when its turn comes, once for each form that somebody is to get it in, and sealed once
/// for all of them, in memory that serves one frame after the other. Each form numbers its own frames, and a number
/// counts when the frame's first datagram has left in that form: so the numbers have no gaps where frames are dropped,
/// nor where nobody watched in that form for a while.
struct Pacer: Sendable {
    private struct Waiting: Sendable {
        var unit: AccessUnit
        var audience: MediaAudience
        var since: MediaTime
    }

    /// The datagrams, in one form, of the frame whose turn it is.
    private struct Cut: Sendable {
        let form: MediaForm
        /// The memory of all frames, one after the other: the frame's datagrams are its first `length` bytes.
        var memory: [UInt8] = []
        var length = 0
        var audience: [NetworkAddress] = []
        /// What is paid for and hasn't left yet.
        var due: Range<Int>?

        /// Bytes after the first `sent`, `limit` at most, that somebody is to get.
        func rest(after sent: Int, limit: Int) -> Range<Int>? {
            audience.isEmpty || length <= sent ? nil : sent..<min(sent + limit, length)
        }
    }

    /// The frame whose turn it is. Its forms leave in step: a burst of each, then the next burst of each.
    private struct Current: Sendable {
        var isKeyframe: Bool
        /// A datagram of it has left.
        var hasBegun = false
        /// Bytes of each cut that have left, but for those that are due.
        var sent = 0
    }

    /// What became of a frame.
    enum Admission: Hashable, Sendable {
        /// It waits for its turn; `superseded` older ones that nobody needs any more were dropped.
        case queued(superseded: Int)
        /// There was no room: it and all that waited were dropped, `count` in all.
        case overflow(count: Int)
    }

    /// What to do now.
    enum Step: Sendable {
        /// `begins` with the frame's first burst.
        case send(MediaBurst, isKeyframe: Bool, begins: Bool)
        /// A frame could not be cut into datagrams, or sealed, and is gone for everybody.
        case unsendable(FragmentationError, isKeyframe: Bool)
        case wait(until: MediaTime)
        case idle
    }

    /// Of the frame that begins next in each form.
    private struct Numbers: Sendable {
        var version1: SequenceNumber
        var version2: SequenceNumber

        mutating func count(_ form: MediaForm) {
            switch form {
            case .version1: version1 = version1.next
            case .version2: version2 = version2.next
            }
        }
    }

    private let pacing: Pacing
    private var bucket: TokenBucket
    private var sealer: DatagramSealer?
    private var cuts = [Cut(form: .version1), Cut(form: .version2)]
    private var current: Current?
    private var waiting: [Waiting] = []
    private var waitingBytes = 0
    private var numbers: Numbers
    /// The last frame that has begun to leave in version 2, and the last keyframe among those.
    private(set) var newest: SequenceNumber?
    private(set) var newestKeyframe: SequenceNumber?

    init(_ pacing: Pacing, firstNumber: SequenceNumber) {
        self.pacing = pacing
        bucket = TokenBucket(capacity: pacing.bucketBytes, bitsPerSecond: pacing.bitsPerSecond)
        numbers = Numbers(version1: firstNumber, version2: firstNumber)
    }

    // MARK: Sealing

    /// Seals with `key` from the next frame on. There has to be a key before a frame goes to a version 2 audience, and
    /// a new one each time: a key that was in use before would repeat its nonces.
    mutating func use(_ key: SealingKey) {
        sealer = DatagramSealer(key: key)
    }

    /// How many datagrams the present key has sealed. Replace it well before `DatagramSealer.limit`.
    var datagramsSealed: UInt64 { sealer?.datagramsSealed ?? 0 }

    /// A sealed datagram that tells how far the stream has come.
    func sealedState() -> [UInt8]? { try? sealer?.seal(.state, StreamState(newest: newest).plaintext) }

    // MARK: In

    /// Takes a frame for `audience`. A keyframe takes the place of all that wait: whoever would have got those can
    /// start with it.
    mutating func enqueue(_ unit: AccessUnit, to audience: MediaAudience, now: MediaTime) -> Admission {
        var superseded = 0
        if unit.isKeyframe {
            superseded = dropWaiting()
        } else if let oldest = waiting.first {
            let isFull = waitingBytes + unit.range.count > pacing.queueBytes
            if isFull || now - oldest.since > pacing.queueTime { return .overflow(count: dropWaiting() + 1) }
        }
        waiting.append(Waiting(unit: unit, audience: audience, since: now))
        waitingBytes += unit.range.count
        return .queued(superseded: superseded)
    }

    /// Nothing more goes there.
    mutating func remove(_ address: NetworkAddress) {
        for index in cuts.indices { cuts[index].audience.removeAll { $0 == address } }
        if cuts.allSatisfy(\.audience.isEmpty) { current = nil }
        for index in waiting.indices { waiting[index].audience.remove(address) }
        waiting.removeAll { $0.audience.isEmpty }
        waitingBytes = waiting.reduce(0) { $0 + $1.unit.range.count }
    }

    /// Drops the frames of which nothing has left yet, and says how many those were.
    mutating func dropWaiting() -> Int {
        var count = waiting.count
        waiting.removeAll(keepingCapacity: true)
        waitingBytes = 0
        if current?.hasBegun == false {
            current = nil
            count += 1
        }
        return count
    }

    // MARK: Out

    /// The next burst, if it may leave now.
    mutating func step(now: MediaTime) -> Step {
        while true {
            if current == nil {
                guard !waiting.isEmpty else { return .idle }
                let next = waiting.removeFirst()
                waitingBytes -= next.unit.range.count
                do throws(FragmentationError) {
                    try cut(next)
                } catch {
                    return .unsendable(error, isKeyframe: next.unit.isKeyframe)
                }
            }
            if !cuts.contains(where: { $0.due != nil }) {
                switch pay(now: now) {
                case .paid: break
                case .finished: continue
                case .short(let time): return .wait(until: time)
                }
            }
            if let burst = takeDue() { return burst }
        }
    }

    private enum Payment {
        case paid
        case finished
        case short(until: MediaTime)
    }

    /// Pays for the next burst in each form, if the bucket holds enough.
    private mutating func pay(now: MediaTime) -> Payment {
        let sent = current?.sent ?? 0
        let limit = pacing.burstBytes(holding: bucket.level(now: now))
        let longest = cuts.reduce(0) { max($0, $1.rest(after: sent, limit: limit)?.count ?? 0) }
        guard longest > 0 else {
            current = nil
            return .finished
        }
        // Each viewer's path takes one form: the longest is what any of them gets.
        if let time = bucket.take(longest, now: now) { return .short(until: time) }
        for index in cuts.indices { cuts[index].due = cuts[index].rest(after: sent, limit: limit) }
        current?.sent += limit
        return .paid
    }

    /// A burst that is paid for; nil if nobody is left to get it.
    private mutating func takeDue() -> Step? {
        guard let frame = current, let index = cuts.firstIndex(where: { $0.due != nil }), let range = cuts[index].due
        else { return nil }
        cuts[index].due = nil
        let cut = cuts[index]
        // Its viewers may have gone since it was paid for.
        let isSent = !cut.audience.isEmpty
        if isSent {
            current?.hasBegun = true
            if range.lowerBound == 0 { began(cut.form, isKeyframe: frame.isKeyframe) }
        }
        let isFinished = cuts.allSatisfy { $0.due == nil && $0.rest(after: frame.sent, limit: 1) == nil }
        if isFinished { current = nil }
        guard isSent else { return nil }
        let burst = MediaBurst(
            bytes: cut.memory, range: range, segmentSize: MediaLimits.datagramLength, addresses: cut.audience)
        return .send(burst, isKeyframe: frame.isKeyframe, begins: !frame.hasBegun)
    }

    private mutating func began(_ form: MediaForm, isKeyframe: Bool) {
        if form == .version2 {
            newest = numbers.version2
            if isKeyframe { newestKeyframe = newest }
        }
        numbers.count(form)
    }

    /// Cuts the frame in each form that somebody is to get it in; its turn has come.
    private mutating func cut(_ frame: Waiting) throws(FragmentationError) {
        for index in cuts.indices {
            cuts[index].length = 0
            cuts[index].due = nil
        }
        cuts[0].audience = frame.audience.version1
        cuts[1].audience = frame.audience.version2
        if !frame.audience.version1.isEmpty {
            cuts[0].length = try Fragmenter.write(frame.unit, sequence: numbers.version1, to: &cuts[0].memory)
        }
        if !frame.audience.version2.isEmpty {
            guard let sealer else { throw .noSealingKey }
            cuts[1].length = try Fragmenter.write(
                frame.unit, sequence: numbers.version2, sealedBy: sealer, to: &cuts[1].memory)
        }
        current = Current(isKeyframe: frame.unit.isKeyframe)
    }
}
