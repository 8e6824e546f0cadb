import BeamMedia

/// When the encoder is asked for a keyframe: at once where somebody can't go on without one, and so often that they
/// are at most two seconds apart.
struct KeyframeSchedule: Sendable {
    /// From one keyframe to the request for the next: 2 s, less what a capture and an encoder take.
    static let interval = Duration.milliseconds(1900)
    /// How long the encoder has, before it is asked again.
    static let patience = Duration.milliseconds(250)

    private enum State: Hashable, Sendable {
        /// Nobody watches, or nothing is shared.
        case idle
        /// The next one is due then.
        case scheduled(MediaTime)
        /// Asked for, and asked for again then.
        case requested(again: MediaTime)
    }

    enum Action: Hashable, Sendable { case none, request }

    private var state = State.idle

    /// When to call `deadlineReached`.
    var deadline: MediaTime? {
        switch state {
        case .idle: nil
        case .scheduled(let time), .requested(let time): time
        }
    }

    /// Somebody needs one now. One request at a time: what comes of it serves all.
    mutating func need(now: MediaTime) -> Action {
        if case .requested = state { return .none }
        state = .requested(again: now + Self.patience)
        return .request
    }

    mutating func deadlineReached(now: MediaTime) -> Action {
        guard let deadline, deadline <= now else { return .none }
        state = .requested(again: now + Self.patience)
        return .request
    }

    /// The encoder has made one.
    mutating func keyframeCame(now: MediaTime) { state = .scheduled(now + Self.interval) }

    mutating func stop() { state = .idle }
}
