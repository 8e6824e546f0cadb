import BeamMedia
import BeamWire

/// When the parts of each frame were sent to one viewer.
struct DepartureLog: Sendable {
    struct Limits: Sendable {
        /// How long a frame may be retransmitted: after that a keyframe is better than this frame and all that followed
        /// it.
        var age = Duration.milliseconds(800)
        /// Frames and bursts kept for late reports.
        var frames = 256
        var departures = 512
    }

    /// 40 bytes: each viewer has 256 of them.
    struct Frame: Sendable {
        let number: SequenceNumber
        private let parts: Int32
        private let bytes: Int32
        private var sentParts: Int16 = 0
        /// The length of its datagrams.
        let size: DatagramSize
        let firstSent: MediaTime
        fileprivate(set) var lastSent: MediaTime
        private var parityTime = MediaTime.distantFuture

        fileprivate init(
            _ number: SequenceNumber, partCount: Int, length: Int, size: DatagramSize, sent: MediaTime
        ) {
            self.number = number
            self.size = size
            parts = Int32(clamping: partCount)
            bytes = Int32(clamping: length)
            firstSent = sent
            lastSent = sent
        }

        var partCount: Int { Int(parts) }
        /// Bytes of all its parts on the wire.
        var length: Int { Int(bytes) }
        /// Parts sent so far.
        fileprivate(set) var sent: Int {
            get { Int(sentParts) }
            set { sentParts = Int16(clamping: newValue) }
        }
        /// When its last parity was sent; nil if none was.
        fileprivate(set) var paritySent: MediaTime? {
            get { parityTime == .distantFuture ? nil : parityTime }
            set { parityTime = newValue ?? .distantFuture }
        }
    }

    /// A burst of one frame's parts, which ends before part `end`. 16 bytes: each viewer has 512 of them.
    private struct Departure: Sendable {
        var frame: SequenceNumber
        var end: Int32
        var time: MediaTime
    }

    private let limits: Limits
    /// In ascending order of their numbers. Frames missing in between weren't sent to this viewer.
    private var frames: [Frame] = []
    /// A ring; the newest is the one before `nextDeparture`.
    private var departures: [Departure] = []
    private var nextDeparture = 0
    /// Frames before this one aren't retransmitted.
    private var resendableFrom: SequenceNumber?

    init(_ limits: Limits = Limits()) {
        self.limits = limits
        // Arrays that grow by themselves end up larger, and leave their smaller predecessors' memory scattered.
        frames.reserveCapacity(limits.frames)
        departures.reserveCapacity(limits.departures)
    }

    /// The newest frame of which a part was sent.
    var newest: SequenceNumber? { frames.last?.number }
    /// The newest keyframe of which a part was sent.
    private(set) var newestKeyframe: SequenceNumber?

    /// Forgets all frames: the viewer gets another layer, whose frames are numbered by themselves.
    mutating func removeAll() {
        frames.removeAll(keepingCapacity: true)
        departures.removeAll(keepingCapacity: true)
        nextDeparture = 0
        newestKeyframe = nil
        resendableFrom = nil
    }

    /// Nothing sent so far is to be retransmitted.
    mutating func forgetAll() { resendableFrom = newest?.next }

    /// The frame's first parts are being sent.
    mutating func began(
        _ number: SequenceNumber, isKeyframe: Bool, partCount: Int, length: Int, size: DatagramSize = .full,
        now: MediaTime
    ) {
        // The number goes backwards: the layer was restarted, or the viewer was behind by half the range of numbers.
        if let newest, number.distance(from: newest) <= 0 { removeAll() }
        if frames.count == limits.frames { frames.removeFirst(limits.frames / 4) }
        frames.append(Frame(number, partCount: partCount, length: length, size: size, sent: now))
        if isKeyframe { newestKeyframe = number }
    }

    /// Parts of the newest frame, up to `end`, are being sent.
    mutating func sent(upTo end: Int, now: MediaTime) {
        guard let index = frames.indices.last else { return }
        frames[index].sent = end
        frames[index].lastSent = now
        let departure = Departure(frame: frames[index].number, end: Int32(clamping: end), time: now)
        if departures.count < limits.departures {
            departures.append(departure)
        } else {
            departures[nextDeparture] = departure
        }
        nextDeparture = (nextDeparture + 1) % limits.departures
    }

    /// Parity of the newest frame is being sent.
    mutating func sentParity(now: MediaTime) {
        if let index = frames.indices.last { frames[index].paritySent = now }
    }

    /// Nil if it wasn't sent to this viewer, or is no longer kept.
    func frame(_ number: SequenceNumber) -> Frame? { index(of: number).map { frames[$0] } }

    /// The same, but nil if it is too late to retransmit the frame.
    func resendable(_ number: SequenceNumber, now: MediaTime) -> Frame? {
        guard let frame = frame(number), now - frame.lastSent <= limits.age else { return nil }
        if let resendableFrom, number.distance(from: resendableFrom) < 0 { return nil }
        return frame
    }

    /// The frame was skipped for this viewer: it lies between frames that were sent.
    func isSkipped(_ number: SequenceNumber) -> Bool {
        guard let first = frames.first?.number, let newest else { return false }
        return number.distance(from: first) > 0 && number.distance(from: newest) < 0 && index(of: number) == nil
    }

    /// When that part was sent, and how many of the frame's parts had been sent then; nil if it wasn't, or is no longer
    /// known.
    func departure(of frame: SequenceNumber, part: Int) -> (time: MediaTime, parts: Int)? {
        var found: Departure?
        for back in 0..<departures.count {
            // From the newest backwards: the ring's newest entry is the one before `nextDeparture`.
            let departure = departures[(nextDeparture + departures.count - 1 - back) % departures.count]
            if departure.frame == frame {
                guard Int(departure.end) > part else { break }
                found = departure
            } else if departure.frame.distance(from: frame) < 0 {
                break
            }
        }
        return found.map { ($0.time, Int($0.end)) }
    }

    /// How many of the frame's parts had been sent for the first time by `time`.
    func partsSent(of frame: Frame, by time: MediaTime) -> Int {
        guard frame.lastSent > time else { return frame.sent }
        var count = 0
        for departure in departures where departure.frame == frame.number && departure.time <= time {
            count = max(count, Int(departure.end))
        }
        return count
    }

    /// Binary search: the numbers ascend.
    private func index(of number: SequenceNumber) -> Int? {
        var (low, high) = (0, frames.count)
        while low < high {
            let middle = (low + high) / 2
            if frames[middle].number.distance(from: number) < 0 { low = middle + 1 } else { high = middle }
        }
        return low < frames.count && frames[low].number == number ? low : nil
    }
}
