import BeamMedia

/// The version 2 frames of a lane that have begun to leave: what can be sent again, and when each part left.
///
/// Their bytes are the encoder's own, shared and not copied.
struct SentFrames: Sendable {
    struct Limits: Sendable {
        /// How long a frame's bytes are kept: after that a keyframe is better than the frame and all that followed it.
        var age = Duration.milliseconds(800)
        var bytes = 16 << 20
        /// Frames whose departures are remembered, for reports that come late.
        var frames = 256
        var departures = 1024
    }

    struct Frame: Sendable {
        let number: SequenceNumber
        /// Nil once it is too old to be sent again.
        fileprivate(set) var unit: AccessUnit?
        let partCount: Int
        /// Of all parts, on the wire.
        let length: Int
        let firstSent: MediaTime
        fileprivate(set) var lastSent: MediaTime
        /// When its last parity left.
        fileprivate(set) var paritySent: MediaTime?
        /// Parts that have left.
        fileprivate(set) var sent = 0
        /// Where the encoder's bytes count.
        fileprivate var heldBytes: Int { unit?.range.count ?? 0 }
    }

    /// A burst of one frame's parts.
    private struct Departure: Sendable {
        var frame: SequenceNumber
        var end: Int
        var time: MediaTime
    }

    private let limits: Limits
    /// In the order of their numbers, without gaps.
    private var frames: [Frame] = []
    /// A ring: the newest is before `nextDeparture`.
    private var departures: [Departure] = []
    private var nextDeparture = 0
    private var heldBytes = 0

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Nothing that was sent is of use any more.
    mutating func removeAll() {
        frames.removeAll(keepingCapacity: true)
        departures.removeAll(keepingCapacity: true)
        nextDeparture = 0
        heldBytes = 0
    }

    /// Nothing that was sent is to be sent again.
    mutating func forgetAll() {
        for index in frames.indices { frames[index].unit = nil }
        heldBytes = 0
    }

    /// The frame's first parts leave.
    mutating func began(_ unit: AccessUnit, number: SequenceNumber, partCount: Int, length: Int, now: MediaTime) {
        if let last = frames.last, number != last.number.next { removeAll() }
        frames.append(
            Frame(number: number, unit: unit, partCount: partCount, length: length, firstSent: now, lastSent: now))
        heldBytes += unit.range.count
        forget(now: now)
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

    /// Nil for one that was never sent, or so long ago that nobody remembers.
    func frame(_ number: SequenceNumber) -> Frame? { index(of: number).map { frames[$0] } }

    /// The same, but nil for one that it is too late to send again.
    func repairable(_ number: SequenceNumber, now: MediaTime) -> Frame? {
        guard let frame = frame(number), frame.unit != nil, now - frame.lastSent <= limits.age else { return nil }
        return frame
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

    private func index(of number: SequenceNumber) -> Int? {
        guard let first = frames.first else { return nil }
        let index = number.distance(from: first.number)
        return frames.indices.contains(index) ? index : nil
    }

    private mutating func forget(now: MediaTime) {
        if frames.count > limits.frames {
            let count = frames.count - limits.frames * 3 / 4
            for frame in frames.prefix(count) { heldBytes -= frame.heldBytes }
            frames.removeFirst(count)
        }
        // Oldest first; the newest stays in any case.
        for index in frames.indices.dropLast() where frames[index].unit != nil {
            guard heldBytes > limits.bytes || now - frames[index].lastSent > limits.age else { return }
            heldBytes -= frames[index].heldBytes
            frames[index].unit = nil
        }
    }
}
