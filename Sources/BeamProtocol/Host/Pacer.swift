import BeamMedia

/// The frames that wait to be sent, and the pace at which their datagrams leave.
///
/// A frame is cut into datagrams when its turn comes, once for each form that somebody is to get it in, and sealed once
/// for all of them. Each form numbers its own frames, and a number counts when the frame's first datagram has left in
/// that form: so the numbers have no gaps where frames are dropped, nor where nobody watched in that form for a while.
struct Pacer: Sendable {
    private struct Waiting: Sendable {
        var unit: AccessUnit
        var audience: MediaAudience
        var since: MediaTime
    }

    /// A frame's datagrams in one form.
    private struct Cut: Sendable {
        var form: MediaForm
        var datagrams: [UInt8]
        var audience: [NetworkAddress]
    }

    /// The frame whose turn it is. Its forms leave in step: a burst of each, then the next burst of each.
    private struct Current: Sendable {
        var cuts: [Cut]
        var isKeyframe: Bool
        /// A datagram of it has left.
        var hasBegun = false
        /// Bytes of each cut that have left, but for those that are due.
        var sent = 0
        /// The cuts whose burst is paid for and hasn't left yet.
        var due: [(cut: Int, range: Range<Int>)] = []
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
        if var frame = current {
            for index in frame.cuts.indices { frame.cuts[index].audience.removeAll { $0 == address } }
            current = frame.cuts.allSatisfy(\.audience.isEmpty) ? nil : frame
        }
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
            guard var frame = current else {
                guard !waiting.isEmpty else { return .idle }
                let next = waiting.removeFirst()
                waitingBytes -= next.unit.range.count
                do throws(FragmentationError) {
                    current = Current(cuts: try cuts(of: next), isKeyframe: next.unit.isKeyframe)
                } catch {
                    return .unsendable(error, isKeyframe: next.unit.isKeyframe)
                }
                continue
            }
            if frame.due.isEmpty {
                let round = nextRound(of: frame)
                guard let longest = round.map(\.range.count).max() else {
                    current = nil
                    continue
                }
                // Each viewer's path takes one form: the longest is what any of them gets.
                if let time = bucket.take(longest, now: now) { return .wait(until: time) }
                frame.due = round
                frame.sent += pacing.burstBytes
            }
            let (index, range) = frame.due.removeFirst()
            let cut = frame.cuts[index]
            // Its viewers may have gone since it was paid for.
            let isSent = !cut.audience.isEmpty
            let begins = isSent && !frame.hasBegun
            if isSent {
                frame.hasBegun = true
                if range.lowerBound == 0 { began(cut.form, isKeyframe: frame.isKeyframe) }
            }
            current = frame.due.isEmpty && nextRound(of: frame).isEmpty ? nil : frame
            guard isSent else { continue }
            let burst = MediaBurst(
                bytes: cut.datagrams, range: range, segmentSize: MediaLimits.datagramLength, addresses: cut.audience)
            return .send(burst, isKeyframe: frame.isKeyframe, begins: begins)
        }
    }

    private mutating func began(_ form: MediaForm, isKeyframe: Bool) {
        if form == .version2 {
            newest = numbers.version2
            if isKeyframe { newestKeyframe = newest }
        }
        numbers.count(form)
    }

    /// The frame in each form that somebody is to get it in.
    private func cuts(of frame: Waiting) throws(FragmentationError) -> [Cut] {
        var cuts: [Cut] = []
        if !frame.audience.version1.isEmpty {
            let datagrams = try Fragmenter.datagrams(of: frame.unit, sequence: numbers.version1)
            cuts.append(Cut(form: .version1, datagrams: datagrams, audience: frame.audience.version1))
        }
        if !frame.audience.version2.isEmpty {
            guard let sealer else { throw .noSealingKey }
            let datagrams = try Fragmenter.datagrams(
                of: frame.unit, sequence: numbers.version2, sealedBy: sealer)
            cuts.append(Cut(form: .version2, datagrams: datagrams, audience: frame.audience.version2))
        }
        return cuts
    }

    /// The bursts that come after what was sent; none when the frame is finished.
    private func nextRound(of frame: Current) -> [(cut: Int, range: Range<Int>)] {
        frame.cuts.indices.compactMap { index in
            let cut = frame.cuts[index]
            guard !cut.audience.isEmpty, cut.datagrams.count > frame.sent else { return nil }
            return (index, frame.sent..<min(frame.sent + pacing.burstBytes, cut.datagrams.count))
        }
    }
}
