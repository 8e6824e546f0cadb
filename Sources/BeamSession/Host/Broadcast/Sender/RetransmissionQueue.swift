import BeamMedia
import BeamWire

/// The parts that a viewer has requested and that weren't retransmitted yet.
struct RetransmissionQueue: Sendable {
    struct Limits: Sendable {
        /// The most parts that may wait. A viewer that misses more needs a keyframe.
        var parts = 512
        /// From a retransmission to its duplicate: longer than most bursts of losses on Wi-Fi.
        var duplicate = Duration.milliseconds(10)
    }

    private struct Part: Hashable, Sendable {
        var frame: SequenceNumber
        var part: Int
    }

    private let limits: Limits
    private var waiting: [Part] = []
    /// The same as a set, for fast lookup.
    private var isWaiting: Set<Part> = []
    /// Duplicate retransmissions, and when each is due.
    private var duplicates: [(part: Part, due: MediaTime)] = []
    /// A ring of the parts sent last. A request for one of them is ignored while the retransmission can't have arrived.
    private var recent: [Part] = []
    private var nextRecent = 0
    private var departures: [Part: MediaTime] = [:]
    /// The most parts kept in `recent`.
    private static let remembered = 256

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// When the next retransmission is due; `.zero` if at once, nil if nothing waits.
    var due: MediaTime? { waiting.isEmpty ? duplicates.first?.due : .zero }
    /// Parts that wait, without duplicates.
    var count: Int { waiting.count }
    /// How many parts `next` returns: of one frame, at most `limit`.
    func nextCount(limit: Int, now: MediaTime) -> Int {
        guard let first = waiting.first else {
            let frame = duplicates.first?.part.frame
            return duplicates.prefix(limit).prefix { $0.part.frame == frame && $0.due <= now }.count
        }
        return waiting.prefix(limit).prefix { $0.frame == first.frame }.count
    }

    mutating func removeAll() {
        waiting.removeAll(keepingCapacity: true)
        isWaiting.removeAll(keepingCapacity: true)
        duplicates.removeAll(keepingCapacity: true)
    }

    /// Takes a request. `pause`: how long a retransmission may take to arrive, during which requests for it are
    /// ignored. False if more parts would wait than may.
    mutating func request(
        _ parts: some Sequence<Int>, of frame: SequenceNumber, pause: Duration, now: MediaTime
    ) -> Bool {
        for number in parts {
            let part = Part(frame: frame, part: number)
            if let departure = departures[part], now - departure < pause { continue }
            guard !isWaiting.contains(part) else { continue }
            guard waiting.count < limits.parts else { return false }
            waiting.append(part)
            isWaiting.insert(part)
        }
        return true
    }

    /// When that part was last retransmitted; nil if that is no longer known.
    func departure(of part: Int, of frame: SequenceNumber) -> MediaTime? {
        departures[Part(frame: frame, part: part)]
    }

    /// The next parts to send, of one frame, at most `limit`, in ascending order: a frame's last part may be short, and
    /// only a burst's last datagram may be. `duplicating`: each is sent a second time `Limits.duplicate` later, when a
    /// burst of losses may be over.
    mutating func next(
        duplicating: Bool, limit: Int, now: MediaTime
    ) -> (frame: SequenceNumber, parts: [Int])? {
        var parts: [Int] = []
        if let first = waiting.first {
            for part in waiting {
                guard part.frame == first.frame, parts.count < limit else { break }
                parts.append(part.part)
                remember(part, now: now)
                if duplicating, duplicates.count < limits.parts { duplicates.append((part, now + limits.duplicate)) }
            }
            for part in waiting.prefix(parts.count) { isWaiting.remove(part) }
            waiting.removeFirst(parts.count)
            return (first.frame, parts.sorted())
        }
        guard let first = duplicates.first, first.due <= now else { return nil }
        for (part, due) in duplicates {
            guard part.frame == first.part.frame, due <= now, parts.count < limit, !parts.contains(part.part) else {
                break
            }
            parts.append(part.part)
            remember(part, now: now)
        }
        duplicates.removeFirst(parts.count)
        return (first.part.frame, parts.sorted())
    }

    private mutating func remember(_ part: Part, now: MediaTime) {
        // A part sent before keeps its place in the ring.
        guard departures.updateValue(now, forKey: part) == nil else { return }
        if recent.count < Self.remembered {
            recent.append(part)
        } else {
            departures[recent[nextRecent]] = nil
            recent[nextRecent] = part
        }
        nextRecent = (nextRecent + 1) % Self.remembered
    }
}
