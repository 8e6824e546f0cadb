import BeamMedia

/// The frames that wait to be sent, and the pace at which their datagrams leave.
///
/// A frame's number counts when its first datagram has left, so that the numbers have no gaps where frames are dropped.
struct Pacer: Sendable {
    private struct Waiting: Sendable {
        var unit: AccessUnit
        var audience: [NetworkAddress]
        var since: MediaTime
    }

    /// The frame whose turn it is, cut into datagrams; `sent` bytes of them have left.
    private struct Current: Sendable {
        var datagrams: [UInt8]
        var sent = 0
        var isKeyframe: Bool
        var audience: [NetworkAddress]
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
        /// A frame could not be cut into datagrams, and is gone.
        case unsendable(FragmentationError, isKeyframe: Bool)
        case wait(until: MediaTime)
        case idle
    }

    private let pacing: Pacing
    private var bucket: TokenBucket
    private var current: Current?
    private var waiting: [Waiting] = []
    private var waitingBytes = 0
    /// Of the frame that begins next.
    private var number: SequenceNumber

    init(_ pacing: Pacing, firstNumber: SequenceNumber) {
        self.pacing = pacing
        bucket = TokenBucket(capacity: pacing.bucketBytes, bitsPerSecond: pacing.bitsPerSecond)
        number = firstNumber
    }

    /// Takes a frame for `audience`. A keyframe takes the place of all that wait: whoever would have got those can
    /// start with it.
    mutating func enqueue(_ unit: AccessUnit, to audience: [NetworkAddress], now: MediaTime) -> Admission {
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
        current?.audience.removeAll { $0 == address }
        if current?.audience.isEmpty == true { current = nil }
        for index in waiting.indices { waiting[index].audience.removeAll { $0 == address } }
        waiting.removeAll { $0.audience.isEmpty }
        waitingBytes = waiting.reduce(0) { $0 + $1.unit.range.count }
    }

    /// Drops the frames of which nothing has left yet, and says how many those were.
    mutating func dropWaiting() -> Int {
        var count = waiting.count
        waiting.removeAll(keepingCapacity: true)
        waitingBytes = 0
        if current?.sent == 0 {
            current = nil
            count += 1
        }
        return count
    }

    /// The next burst, if it may leave now.
    mutating func step(now: MediaTime) -> Step {
        if current == nil, !waiting.isEmpty {
            let next = waiting.removeFirst()
            waitingBytes -= next.unit.range.count
            do throws(FragmentationError) {
                let datagrams = try Fragmenter.datagrams(of: next.unit, sequence: number)
                current = Current(datagrams: datagrams, isKeyframe: next.unit.isKeyframe, audience: next.audience)
            } catch {
                return .unsendable(error, isKeyframe: next.unit.isKeyframe)
            }
        }
        guard let frame = current else { return .idle }
        let length = min(pacing.burstBytes, frame.datagrams.count - frame.sent)
        if let time = bucket.take(length, now: now) { return .wait(until: time) }
        let begins = frame.sent == 0
        if begins { number = number.next }
        let range = frame.sent..<frame.sent + length
        if range.upperBound == frame.datagrams.count { current = nil } else { current?.sent = range.upperBound }
        let burst = MediaBurst(
            bytes: frame.datagrams, range: range, segmentSize: MediaLimits.datagramLength, addresses: frame.audience)
        return .send(burst, isKeyframe: frame.isKeyframe, begins: begins)
    }
}
