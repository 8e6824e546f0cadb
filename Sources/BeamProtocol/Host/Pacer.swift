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
        /// Not the frame's parts, but what repairs them.
        var isParity = false
        /// Leaves after so many bytes of the frame.
        var offset = 0
        /// The memory of all frames, one after the other: the frame's datagrams are its first `length` bytes.
        var memory: [UInt8] = []
        var length = 0
        var audience: [NetworkAddress] = []
        /// What is paid for and hasn't left yet.
        var due: Range<Int>?

        /// Bytes after the first `sent`, `limit` at most, that somebody is to get.
        func rest(after sent: Int, limit: Int) -> Range<Int>? {
            let (start, end) = (max(0, sent - offset), min(sent + limit - offset, length))
            return audience.isEmpty || start >= end ? nil : start..<end
        }

        func isFinished(after sent: Int) -> Bool { audience.isEmpty || sent >= offset + length }
    }

    /// The frame whose turn it is. Its forms leave in step: a burst of each, then the next burst of each.
    private struct Current: Sendable {
        var unit: AccessUnit
        var isKeyframe: Bool { unit.isKeyframe }
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
        /// As much as may be is on its way: something of that has to arrive first.
        case blocked
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
    /// As fast as the viewers' paths allow.
    private var pace: Pacing
    private var bucket: TokenBucket
    private var sealer: DatagramSealer?
    private var cuts = [Cut(form: .version1), Cut(form: .version2), Cut(form: .version2, isParity: true)]
    /// Parity's datagrams so far, for each address.
    private(set) var parityDatagrams: UInt64 = 0
    private var current: Current?
    private var waiting: [Waiting] = []
    private var waitingBytes = 0
    private var numbers: Numbers
    /// What has left in version 2.
    private(set) var sent = SentFrames()
    /// The last frame that has begun to leave in version 2, and the last keyframe among those.
    private(set) var newest: SequenceNumber?
    private(set) var newestKeyframe: SequenceNumber?

    init(_ pacing: Pacing, firstNumber: SequenceNumber) {
        self.pacing = pacing
        pace = pacing
        bucket = TokenBucket(capacity: pacing.bucketBytes, bitsPerSecond: pacing.bitsPerSecond)
        numbers = Numbers(version1: firstNumber, version2: firstNumber)
    }

    // MARK: Sealing

    /// Seals with `key` from the next frame on. There has to be a key before a frame goes to a version 2 audience, and
    /// a new one each time: a key that was in use before would repeat its nonces.
    mutating func use(_ sealer: DatagramSealer) {
        self.sealer = sealer
    }

    /// How many datagrams the present key has sealed. Replace it well before `DatagramSealer.limit`.
    var datagramsSealed: UInt64 { sealer?.datagramsSealed ?? 0 }

    /// A sealed datagram of the host's own.
    func seal(_ state: StreamState) -> [UInt8]? { try? sealer?.seal(.state, state.plaintext) }

    /// Some parts of a frame once more, at the start of `memory`: how many bytes those are. Nil for a frame that is too old, or
    /// hasn't left yet.
    func writeAgain(_ parts: [Int], of frame: SequenceNumber, to memory: inout [UInt8]) -> Int? {
        guard let sealer, let unit = sent.frame(frame)?.unit else { return nil }
        return try? Fragmenter.writeAgain(parts, of: unit, sequence: frame, sealedBy: sealer, to: &memory)
    }

    // MARK: The pace

    /// The viewers' paths are to be sent no more than so many bits a second, and so many bytes at once.
    mutating func slow(to rate: Int, burst: Int, now: MediaTime) {
        let slowed = pacing.slowed(to: rate, burst: burst)
        guard slowed != pace else { return }
        pace = slowed
        bucket.change(capacity: slowed.bucketBytes, bitsPerSecond: slowed.bitsPerSecond, now: now)
    }

    /// Something else has left for the same paths: the frames wait for that long.
    mutating func charge(_ bytes: Int, now: MediaTime) { bucket.charge(bytes, now: now) }

    /// Bytes that wait for their turn, as the encoder made them.
    var backlog: Int {
        guard let current else { return waitingBytes }
        let end = cuts.reduce(0) { max($0, $1.audience.isEmpty ? 0 : $1.offset + $1.length) }
        return waitingBytes + max(0, end - current.sent)
    }

    /// How long what waits needs at the present pace, but for what the bucket holds.
    mutating func backlogTime(now: MediaTime) -> Duration {
        let bytes = max(0, backlog - bucket.level(now: now))
        return .seconds(clamping: Double(bytes) * 8 / Double(pace.bitsPerSecond))
    }

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

    /// Drops everything, what has begun to leave as well, and says how many frames those were: nobody can use them in time.
    mutating func abandon() -> Int {
        var count = dropWaiting()
        if current != nil { count += 1 }
        current = nil
        for index in cuts.indices { cuts[index].due = nil }
        sent.forgetAll()
        return count
    }

    // MARK: Out

    /// The next burst, if it may leave now. `room`: how many bytes may be on their way in addition; a datagram at least always may
    /// where that isn't negative.
    mutating func step(now: MediaTime, room: Int = .max) -> Step {
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
                guard room >= 0 else { return .blocked }
                switch pay(now: now, room: room) {
                case .paid: break
                case .finished: continue
                case .short(let time): return .wait(until: time)
                }
            }
            if let burst = takeDue(now: now) { return burst }
        }
    }

    private enum Payment {
        case paid
        case finished
        case short(until: MediaTime)
    }

    /// Pays for the next burst in each form, if the bucket holds enough.
    private mutating func pay(now: MediaTime, room: Int) -> Payment {
        let sent = current?.sent ?? 0
        let mostDatagrams = max(1, room / MediaLimits.datagramLength)
        let limit = min(
            pace.burstBytes(holding: bucket.level(now: now)), mostDatagrams * MediaLimits.datagramLength)
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
    private mutating func takeDue(now: MediaTime) -> Step? {
        guard let frame = current, let index = cuts.firstIndex(where: { $0.due != nil }), let range = cuts[index].due
        else { return nil }
        cuts[index].due = nil
        let cut = cuts[index]
        // Its viewers may have gone since it was paid for.
        let isSent = !cut.audience.isEmpty
        if isSent {
            current?.hasBegun = true
            let datagrams = (range.upperBound + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength
            if cut.isParity {
                parityDatagrams +=
                    UInt64(datagrams - range.lowerBound / MediaLimits.datagramLength)
                    * UInt64(cut.audience.count)
                sent.sentParity(now: now)
            } else {
                if range.lowerBound == 0 { began(cut, frame.unit, now: now) }
                if cut.form == .version2 { sent.sent(upTo: datagrams, now: now) }
            }
        }
        let isFinished = cuts.allSatisfy { $0.due == nil && $0.isFinished(after: frame.sent) }
        if isFinished { current = nil }
        guard isSent else { return nil }
        let burst = MediaBurst(
            bytes: cut.memory, range: range, segmentSize: MediaLimits.datagramLength, addresses: cut.audience)
        return .send(burst, isKeyframe: frame.isKeyframe, begins: !frame.hasBegun)
    }

    private mutating func began(_ cut: Cut, _ unit: AccessUnit, now: MediaTime) {
        if cut.form == .version2 {
            newest = numbers.version2
            if unit.isKeyframe { newestKeyframe = newest }
            let datagrams = (cut.length + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength
            sent.began(unit, number: numbers.version2, partCount: datagrams, length: cut.length, now: now)
        }
        numbers.count(cut.form)
    }

    /// Cuts the frame in each form that somebody is to get it in; its turn has come.
    private mutating func cut(_ frame: Waiting) throws(FragmentationError) {
        for index in cuts.indices {
            cuts[index].length = 0
            cuts[index].due = nil
        }
        cuts[0].audience = frame.audience.version1
        cuts[1].audience = frame.audience.version2
        cuts[2].audience = frame.audience.parity
        if !frame.audience.version1.isEmpty {
            cuts[0].length = try Fragmenter.write(frame.unit, sequence: numbers.version1, to: &cuts[0].memory)
        }
        if !frame.audience.version2.isEmpty {
            guard let sealer else { throw .noSealingKey }
            cuts[1].length = try Fragmenter.write(
                frame.unit, sequence: numbers.version2, sealedBy: sealer, to: &cuts[1].memory)
            if !frame.audience.parity.isEmpty {
                cuts[2].length = try FrameCutter(frame.unit, as: .version2).writeParity(
                    share: frame.audience.parityShare, sequence: numbers.version2, sealedBy: sealer,
                    to: &cuts[2].memory)
                let datagrams = (cuts[1].length + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength
                cuts[2].offset = datagrams * MediaLimits.datagramLength
            }
        }
        current = Current(unit: frame.unit)
    }
}
