import BeamMedia

/// When a viewer asks for a keyframe: at once when nothing else can mend its picture, and again until one has come.
struct KeyframeWish: Sendable {
    /// From one request to the next: the way there, an encoder's time and the way back, on any local network.
    static let repetition = Duration.milliseconds(100)

    private enum State: Sendable {
        case none
        /// To be asked for the first time.
        case new(due: MediaTime)
        /// To be asked for once more.
        case asked(again: MediaTime)
    }

    private var state = State.none
    /// Keyframes that were asked for so far, however often.
    private(set) var count: UInt64 = 0

    /// When to call `take`; nil while no keyframe is wanted.
    var deadline: MediaTime? {
        switch state {
        case .none: nil
        case .new(let due), .asked(let due): due
        }
    }

    /// Whether one is wanted may have changed.
    mutating func update(isWanted: Bool, now: MediaTime) {
        switch state {
        case .none where isWanted: state = .new(due: now)
        case .new where !isWanted, .asked where !isWanted: state = .none
        default: break
        }
    }

    /// True when it is time to ask.
    mutating func take(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        if case .new = state { count += 1 }
        state = .asked(again: now + Self.repetition)
        return true
    }
}
