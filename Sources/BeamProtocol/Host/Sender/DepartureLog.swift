import BeamMedia

/// When the parts of each frame left for one viewer.
struct DepartureLog: Sendable {
    struct Limits: Sendable {
        /// How long a frame may be sent again: after that a keyframe is better than the frame and all that followed it.
        var age = Duration.milliseconds(800)
        /// Frames and bursts that are remembered, for reports that come late.
        var frames = 256
        var departures = 512
    }

    struct Frame: Sendable {
        let number: SequenceNumber
        let partCount: Int
        /// Of all parts, on the wire, in bytes.
        let length: Int
        let firstSent: MediaTime
        fileprivate(set) var lastSent: MediaTime
        /// When its last parity left.
        fileprivate(set) var paritySent: MediaTime?
        /// Parts that have left.
        fileprivate(set) var sent = 0
    }

    /// A burst of one frame's parts.
    private struct Departure: Sendable {
        var frame: SequenceNumber
        var end: Int
        var time: MediaTime
    }

    private let limits: Limits
    /// In the order of their numbers. What is missing between them was not sent to this viewer.
    private var frames: [Frame] = []
    /// A ring: the newest is before `nextDeparture`.
    private var departures: [Departure] = []
    private var nextDeparture = 0
    /// Frames before this one are not sent again.
    private var resendableFrom: SequenceNumber?

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// The newest frame of which something has left.
    var newest: SequenceNumber? { frames.last?.number }
    /// The newest keyframe of which something has left.
    private(set) var newestKeyframe: SequenceNumber?

    /// The viewer gets another layer, whose frames are numbered by themselves.
    mutating func removeAll() {
        frames.removeAll(keepingCapacity: true)
        departures.removeAll(keepingCapacity: true)
        nextDeparture = 0
        newestKeyframe = nil
        resendableFrom = nil
    }

    /// Nothing that was sent so far is to be sent again.
    mutating func forgetAll() { resendableFrom = newest?.next }

    /// The frame's first parts leave.
    mutating func began(_ number: SequenceNumber, isKeyframe: Bool, partCount: Int, length: Int, now: MediaTime) {
        // The host counts anew, or a viewer was behind for half the circle of numbers.
        if let newest, number.distance(from: newest) <= 0 { removeAll() }
        if frames.count == limits.frames { frames.removeFirst(limits.frames / 4) }
        frames.append(Frame(number: number, partCount: partCount, length: length, firstSent: now, lastSent: now))
        if isKeyframe { newestKeyframe = number }
    }

    /// Parts of the newest frame, up to `end`, leave.
    mutating func sent(upTo end: Int, now: MediaTime) {
        guard let index = frames.indices.last else { return }
        frames[index].sent = end
        frames[index].lastSent = now
        let departure = Departure(frame: frames[index].number, end: end, time: now)
        if departures.count < limits.departures {
            departures.append(departure)
        } else {
            departures[nextDeparture] = departure
        }
        nextDeparture = (nextDeparture + 1) % limits.departures
    }

    /// Parity of the newest frame leaves.
    mutating func sentParity(now: MediaTime) {
        if let index = frames.indices.last { frames[index].paritySent = now }
    }

    /// Nil for one that was not sent to this viewer, or so long ago that nobody remembers.
    func frame(_ number: SequenceNumber) -> Frame? { index(of: number).map { frames[$0] } }

    /// The same, but nil for one that it is too late to send again.
    func resendable(_ number: SequenceNumber, now: MediaTime) -> Frame? {
        guard let frame = frame(number), now - frame.lastSent <= limits.age else { return nil }
        if let resendableFrom, number.distance(from: resendableFrom) < 0 { return nil }
        return frame
    }

    /// The frame was left out for this viewer: it is between frames that were sent.
    func isSkipped(_ number: SequenceNumber) -> Bool {
        guard let first = frames.first?.number, let newest else { return false }
        return number.distance(from: first) > 0 && number.distance(from: newest) < 0 && index(of: number) == nil
    }

    /// When that part left, and how many of the frame's parts had left then; nil if it hasn't, or nobody remembers.
    func departure(of frame: SequenceNumber, part: Int) -> (time: MediaTime, parts: Int)? {
        var found: Departure?
        for back in 0..<departures.count {
            // Both orders of the ring: what lies before the next place is newer than what lies behind it.
            let departure = departures[(nextDeparture + departures.count - 1 - back) % departures.count]
            if departure.frame == frame {
                guard departure.end > part else { break }
                found = departure
            } else if departure.frame.distance(from: frame) < 0 {
                break
            }
        }
        return found.map { ($0.time, $0.end) }
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
