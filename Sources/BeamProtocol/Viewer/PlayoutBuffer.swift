import BeamMedia

/// Frames that wait for their time, so that those that took longer than others come in step.
///
/// A frame's time is when the host had it encoded and the least that frames have been under way lately, and nearly as much more
/// as nineteen of twenty frames need. Where that is next to nothing, as on a quiet local network, no frame waits.
struct PlayoutBuffer: Sendable {
    /// What isn't worth a delay: half of what a picture lasts at 60 a second.
    private static let negligible = Duration.milliseconds(8)
    /// How far frames may be out of step where they do wait.
    private static let tolerance = Duration.milliseconds(6)
    /// More than this isn't waited for by itself: a picture that jerks is better than one that lags.
    private static let longest = Duration.milliseconds(120)
    /// Frames that count.
    private static let memory = 60
    private static let share = 0.95
    /// What the delay goes down by with each frame.
    private static let decay = Duration.microseconds(500)
    /// More than this doesn't wait: a host that floods the viewer finds no more memory here. In bytes and in frames.
    private static let mostBytes = 16 << 20
    private static let mostFrames = 240
    /// As a person may set it.
    static let allowed: ClosedRange<Duration> = .zero ... .seconds(2)

    private let fixed: Duration?
    private var waiting: [(frame: ReceivedFrame, due: MediaTime)] = []
    private(set) var waitingBytes = 0
    var waitingFrames: Int { waiting.count }
    /// From the encoder, by the host's clock, to arrival, of the last frames: a ring.
    private var transits: [Duration] = []
    private var nextTransit = 0
    /// For choosing among them; its memory is used again.
    private var sorted: [Duration] = []
    /// How long a frame that took no longer than any waits at the moment.
    private(set) var delay: Duration

    /// `fixed`: that long, whatever the network does; nil: as long as is needed.
    init(fixed: Duration? = nil) {
        self.fixed = fixed.map { min(max($0, Self.allowed.lowerBound), Self.allowed.upperBound) }
        delay = self.fixed ?? .zero
    }

    /// When to call `next`; nil while nothing waits.
    var deadline: MediaTime? { isOverfull ? .distantPast : waiting.first?.due }

    private var isOverfull: Bool { waitingBytes > Self.mostBytes || waiting.count > Self.mostFrames }

    /// The stream begins anew.
    mutating func removeAll() { self = PlayoutBuffer(fixed: fixed) }

    /// A frame is ready now. Its capture time is still by the host's clock. `isPathBound`: frames take as long as their length
    /// makes them, and waiting for that would only add to it.
    mutating func put(_ frame: ReceivedFrame, isPathBound: Bool = false, now: MediaTime) {
        guard let capture = frame.captureTime else { return append(frame, due: now) }
        // What waited for the encoder, or took it long, was late before it left, and a large change is shown later than a small
        // one; but holding back the small ones for that would only make them late, too.
        let transit = now - capture - (frame.stages.map { $0.waited + $0.encode } ?? .zero)
        if isPathBound, fixed == nil {
            transits.removeAll(keepingCapacity: true)
            nextTransit = 0
            delay = .zero
            return append(frame, due: now)
        }
        note(transit)
        guard delay > .zero, let least = transits.min() else { return append(frame, due: now) }
        append(frame, due: max(now, now + least + delay - transit))
    }

    /// The next frame whose time has come.
    mutating func next(now: MediaTime) -> ReceivedFrame? {
        guard let first = waiting.first, first.due <= now || isOverfull else { return nil }
        waitingBytes -= first.frame.unit.bytes.count
        return waiting.removeFirst().frame
    }

    private mutating func append(_ frame: ReceivedFrame, due: MediaTime) {
        // None overtakes another.
        waiting.append((frame, max(due, waiting.last?.due ?? due)))
        waitingBytes += frame.unit.bytes.count
    }

    private mutating func note(_ transit: Duration) {
        if transits.count < Self.memory {
            transits.append(transit)
        } else {
            transits[nextTransit] = transit
        }
        nextTransit = (nextTransit + 1) % Self.memory
        guard fixed == nil, transits.count >= Self.memory / 4 else { return }
        sorted.removeAll(keepingCapacity: true)
        sorted.append(contentsOf: transits)
        sorted.sort()
        let late = sorted[Int(clamping: Double(sorted.count - 1) * Self.share)] - sorted[0]
        let wanted = late > Self.negligible ? min(late - Self.tolerance, Self.longest) : .zero
        delay = max(wanted, delay - Self.decay, .zero)
        if wanted == .zero, delay <= Self.decay { delay = .zero }
    }
}
