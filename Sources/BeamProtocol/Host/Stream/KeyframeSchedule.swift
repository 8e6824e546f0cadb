import BeamMedia

/// When a layer's encoder is asked for a keyframe. Everybody in the layer pays for each of them, so one serves all who need one, and
/// at most five a second are made while somebody watches who needs none. As long as there are viewers of version 1, which can't ask,
/// keyframes are at most two seconds apart.
struct KeyframeSchedule: Sendable {
    /// From one keyframe to the request for the next: 2 s (WIRE-V1), less what a capture and an encoder take.
    static let periodicInterval = Duration.milliseconds(1900)
    /// How long the encoder has, before it is asked again: some frames' time at the lowest rates.
    static let encoderTimeout = Duration.milliseconds(250)
    /// From one keyframe to the next where somebody watches who needs none.
    static let minimumInterval = Duration.milliseconds(200)

    private enum State: Hashable, Sendable {
        /// Nobody watches, nothing is shared, or nobody needs one.
        case idle
        /// The next one is due then.
        case scheduled(MediaTime)
        /// Asked for, and asked for again then.
        case requested(again: MediaTime)
    }

    enum Action: Hashable, Sendable { case none, request }

    private var state = State.idle
    private var last: MediaTime?

    /// When to call `deadlineReached`.
    var deadline: MediaTime? {
        switch state {
        case .idle: nil
        case .scheduled(let time), .requested(let time): time
        }
    }

    /// The encoder has been asked for one.
    var isRequested: Bool { if case .requested = state { true } else { false } }

    /// Nobody who watches can go on without one.
    mutating func request(now: MediaTime) -> Action {
        if case .requested = state { return .none }
        state = .requested(again: now + Self.encoderTimeout)
        return .request
    }

    /// Somebody needs one, and others watch who don't.
    mutating func requestLimited(now: MediaTime) -> Action {
        guard let last, now - last < Self.minimumInterval else { return request(now: now) }
        switch state {
        case .requested: break
        case .scheduled(let time) where time <= last + Self.minimumInterval: break
        case .idle, .scheduled: state = .scheduled(last + Self.minimumInterval)
        }
        return .none
    }

    mutating func deadlineReached(now: MediaTime) -> Action {
        guard let deadline, deadline <= now else { return .none }
        state = .requested(again: now + Self.encoderTimeout)
        return .request
    }

    /// The encoder has made one. Another one follows by itself where it `isPeriodic`.
    mutating func keyframeCame(now: MediaTime, isPeriodic: Bool) {
        last = now
        state = isPeriodic ? .scheduled(now + Self.periodicInterval) : .idle
    }

    mutating func stop() {
        state = .idle
        last = nil
    }
}
