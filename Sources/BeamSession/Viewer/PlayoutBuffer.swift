import BeamMedia

/// Delays frames to even out jitter.
///
/// Playout time = encode time + recent minimum transit + jitter margin, where the margin is the 95th percentile of
/// recent transit above that minimum, less `tolerance`. Where that jitter is `negligibleJitter` or less, as on a quiet
/// local network, no frame waits.
struct PlayoutBuffer: Sendable {
    /// Up to this much jitter nothing is delayed: half of a frame interval at 60 frames a second.
    private static let negligibleJitter = Duration.milliseconds(8)
    /// How late a frame at the 95th percentile may be: this much less delay for all frames.
    private static let tolerance = Duration.milliseconds(6)
    /// The most delay that the buffer chooses by itself. Beyond this an uneven picture is better than a late one.
    private static let longestDelay = Duration.milliseconds(120)
    /// The number of recent frames whose transit counts.
    private static let transitCount = 60
    private static let percentile = 0.95
    /// How much the delay shrinks with each frame. It grows at once.
    private static let decay = Duration.microseconds(500)
    /// Limits on the waiting frames, in bytes and in frames. Beyond them the oldest ones are released early, so that a
    /// host can't make the buffer grow without bound.
    private static let mostBytes = 16 << 20
    private static let mostFrames = 240
    /// What `--buffer` accepts.
    static let allowed: ClosedRange<Duration> = .zero ... .seconds(2)

    /// How much later than that each frame is played, so that the sound, which takes longer, is in step.
    var hold = Duration.zero {
        didSet { hold = min(max(hold, .zero), Self.longestHold) }
    }
    private static let longestHold = Duration.milliseconds(500)

    private let fixed: Duration?
    private var waiting: [(frame: ReceivedFrame, due: MediaTime)] = []
    private(set) var waitingBytes = 0
    var waitingFrames: Int { waiting.count }
    /// Transit times of the last frames: from the end of encoding, on the host's clock, to arrival on this one. Only
    /// differences between them mean something. A ring.
    private var transits: [Duration] = []
    private var nextTransit = 0
    /// Scratch memory for the percentile, kept between frames.
    private var sorted: [Duration] = []
    /// The present playout delay: how long a frame with the minimum transit waits.
    private(set) var delay: Duration

    /// `fixed`: a constant delay; nil: adapt to the jitter.
    init(fixed: Duration? = nil) {
        self.fixed = fixed.map { min(max($0, Self.allowed.lowerBound), Self.allowed.upperBound) }
        delay = self.fixed ?? .zero
    }

    /// When to call `next`; nil while nothing waits.
    var deadline: MediaTime? { isOverfull ? .distantPast : waiting.first?.due }

    private var isOverfull: Bool { waitingBytes > Self.mostBytes || waiting.count > Self.mostFrames }

    mutating func removeAll() {
        let hold = hold
        self = PlayoutBuffer(fixed: fixed)
        self.hold = hold
    }

    /// Adds a frame whose capture time is still on the host's clock. `isPathBound`: the path limits the rate, so
    /// transit follows the frame's size, and waiting would only add to it.
    mutating func put(_ frame: ReceivedFrame, isPathBound: Bool = false, now: MediaTime) {
        guard let capture = frame.captureTime else { return append(frame, due: now) }
        // Transit excludes the host's stages: a large change takes longer to encode and is shown later, but delaying
        // the small ones for that would only make them late, too.
        let transit = now - capture - (frame.stages.map { $0.waited + $0.encode } ?? .zero)
        if isPathBound, fixed == nil {
            transits.removeAll(keepingCapacity: true)
            nextTransit = 0
            delay = .zero
            return append(frame, due: now + hold)
        }
        note(transit)
        guard delay > .zero, let least = transits.min() else { return append(frame, due: now + hold) }
        append(frame, due: max(now, now + least + delay + hold - transit))
    }

    /// The next frame that is due.
    mutating func next(now: MediaTime) -> ReceivedFrame? {
        guard let first = waiting.first, first.due <= now || isOverfull else { return nil }
        waitingBytes -= first.frame.unit.bytes.count
        return waiting.removeFirst().frame
    }

    private mutating func append(_ frame: ReceivedFrame, due: MediaTime) {
        // Frames keep their order.
        waiting.append((frame, max(due, waiting.last?.due ?? due)))
        waitingBytes += frame.unit.bytes.count
    }

    private mutating func note(_ transit: Duration) {
        if transits.count < Self.transitCount {
            transits.append(transit)
        } else {
            transits[nextTransit] = transit
        }
        nextTransit = (nextTransit + 1) % Self.transitCount
        guard fixed == nil, transits.count >= Self.transitCount / 4 else { return }
        sorted.removeAll(keepingCapacity: true)
        sorted.append(contentsOf: transits)
        sorted.sort()
        let jitter = sorted[Int(clamping: Double(sorted.count - 1) * Self.percentile)] - sorted[0]
        let wanted = jitter > Self.negligibleJitter ? min(jitter - Self.tolerance, Self.longestDelay) : .zero
        delay = max(wanted, delay - Self.decay, .zero)
        if wanted == .zero, delay <= Self.decay { delay = .zero }
    }
}
