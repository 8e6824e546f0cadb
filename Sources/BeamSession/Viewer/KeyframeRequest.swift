import BeamMedia

/// Schedules a viewer's keyframe requests: the first as soon as only a keyframe can restore the picture, then one every
/// `repetition` until a keyframe arrives.
struct KeyframeRequest: Sendable {
    /// About one request's way to the host, the encoder's time and the keyframe's way back, on any local network.
    static let repetition = Duration.milliseconds(100)

    private enum State: Sendable {
        case none
        /// The first request waits to be sent.
        case new(due: MediaTime)
        case asked(again: MediaTime)
    }

    private var state = State.none
    /// How many times a keyframe became necessary and was requested; repetitions don't count.
    private(set) var count: UInt64 = 0

    /// When to call `take`; nil while no keyframe is wanted.
    var deadline: MediaTime? {
        switch state {
        case .none: nil
        case .new(let due), .asked(let due): due
        }
    }

    mutating func update(isWanted: Bool, now: MediaTime) {
        switch state {
        case .none where isWanted: state = .new(due: now)
        case .new where !isWanted, .asked where !isWanted: state = .none
        default: break
        }
    }

    /// Returns true, and schedules the repetition, when a request is due.
    mutating func take(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        if case .new = state { count += 1 }
        state = .asked(again: now + Self.repetition)
        return true
    }
}
