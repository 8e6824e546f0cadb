import BeamMedia

/// When the encoder is asked for a keyframe: at once where somebody can't go on without one, and, as long as there are
/// viewers of version 1, which can't ask, so often that they are at most two seconds apart.
struct KeyframeSchedule: Sendable {
    /// From one keyframe to the request for the next: 2 s, less what a capture and an encoder take.
    static let interval = Duration.milliseconds(1900)
    /// How long the encoder has, before it is asked again.
    static let patience = Duration.milliseconds(250)
    /// From one keyframe to the next that somebody asks for: everybody else pays for it, too.
    static let pause = Duration.milliseconds(200)

    private enum State: Hashable, Sendable {
        /// Nobody watches, nothing is shared, or nobody needs one.
        case idle
        /// The next one is due then.
        case scheduled(MediaTime)
        /// Asked for, and asked for again then.
        case requested(again: MediaTime)
    }

    enum Action: Hashable, Sendable { case none, request }

    /// Keyframes at once for those that join: 10, then five a second, which the bucket takes for bytes.
    private var joins = TokenBucket(capacity: 10, bitsPerSecond: 5 * 8)
    private var state = State.idle
    private var last: MediaTime?

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

    /// Somebody joins, and needs one now. Whoever joins and leaves without end has no more of them made than whoever asks for them.
    mutating func joined(now: MediaTime) -> Action {
        joins.take(1, now: now) == nil ? need(now: now) : wanted(now: now)
    }

    /// Somebody has lost something, and asks for one.
    mutating func wanted(now: MediaTime) -> Action {
        guard let last, now - last < Self.pause else { return need(now: now) }
        switch state {
        case .requested: break
        case .scheduled(let time) where time <= last + Self.pause: break
        case .idle, .scheduled: state = .scheduled(last + Self.pause)
        }
        return .none
    }

    mutating func deadlineReached(now: MediaTime) -> Action {
        guard let deadline, deadline <= now else { return .none }
        state = .requested(again: now + Self.patience)
        return .request
    }

    /// The encoder has made one. Another one follows by itself where it `isPeriodic`.
    mutating func keyframeCame(now: MediaTime, isPeriodic: Bool) {
        last = now
        state = isPeriodic ? .scheduled(now + Self.interval) : .idle
    }

    mutating func stop() {
        state = .idle
        last = nil
    }
}
