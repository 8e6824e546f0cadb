import BeamMedia

/// What a viewer has asked for again and hasn't been sent yet.
struct RetransmissionQueue: Sendable {
    struct Limits: Sendable {
        /// Parts that may wait; who lacks more needs a keyframe.
        var parts = 512
        /// From a part to its duplicate: longer than most bursts of losses on Wi-Fi.
        var duplicate = Duration.milliseconds(10)
    }

    private struct Part: Hashable, Sendable {
        var frame: SequenceNumber
        var part: Int
    }

    private let limits: Limits
    private var waiting: [Part] = []
    /// The same, to be looked up: a viewer may ask for much, and often.
    private var isWaiting: Set<Part> = []
    /// Parts that leave a second time, each then.
    private var duplicates: [(part: Part, due: MediaTime)] = []
    /// What has left lately: asked for again before it can have arrived, it isn't sent again. A ring.
    private var recent: [Part] = []
    private var nextRecent = 0
    private var departures: [Part: MediaTime] = [:]
    private static let remembered = 256

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// When something is to leave; nil while nothing waits.
    var due: MediaTime? { waiting.isEmpty ? duplicates.first?.due : .zero }
    /// Parts that were asked for and haven't left.
    var count: Int { waiting.count }
    /// Parts that may leave now.
    var nextCount: Int { waiting.isEmpty ? duplicates.count : waiting.count }

    mutating func removeAll() {
        waiting.removeAll(keepingCapacity: true)
        isWaiting.removeAll(keepingCapacity: true)
        duplicates.removeAll(keepingCapacity: true)
    }

    /// Takes in what is asked for. `pause`: how long what was sent again may take to arrive. False if more would wait than may.
    mutating func ask(_ parts: some Sequence<Int>, of frame: SequenceNumber, pause: Duration, now: MediaTime) -> Bool {
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

    /// When that part was sent again last; nil if that is long ago.
    func departure(of part: Int, of frame: SequenceNumber) -> MediaTime? {
        departures[Part(frame: frame, part: part)]
    }

    /// The frame whose parts are due next, and those, `limit` at most, the lowest first: a frame's last part may be short, and only
    /// a burst's last datagram may be. `duplicates`: on a path that loses much, and takes long, they leave twice, the
    /// second time a moment later, when a burst of losses may be over.
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
        // It keeps its place in the ring.
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
