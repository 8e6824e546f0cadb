import BeamMedia

/// Decides when a layer's encoder is asked for a keyframe. All viewers of the layer pay for a keyframe, so one serves
/// all that need one, and there are at most five a second while a viewer watches that needs none. While version 1
/// viewers watch, which can't ask, keyframes are at most two seconds apart.
struct KeyframeSchedule: Sendable {
    /// From one keyframe to the request for the next: 2 s (WIRE-V1), less the time for capturing and encoding.
    static let periodicInterval = Duration.milliseconds(1900)
    /// After this the encoder is asked again: several frames' time at the lowest frame rates.
    static let encoderTimeout = Duration.milliseconds(250)
    /// The least time between two keyframes while a viewer watches that needs none.
    static let minimumInterval = Duration.milliseconds(200)

    private enum State: Hashable, Sendable {
        /// No keyframe is needed.
        case idle
        /// The encoder is asked at that time.
        case scheduled(MediaTime)
        /// The encoder was asked, and is asked again at that time.
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

    /// The encoder was asked and hasn't made the keyframe yet.
    var isRequested: Bool { if case .requested = state { true } else { false } }

    /// A keyframe that viewers need is on its way already: another request makes none sooner.
    var isDue: Bool {
        switch state {
        case .idle: false
        case .requested: true
        case .scheduled(let time): last.map { time <= $0 + Self.minimumInterval } ?? true
        }
    }

    /// A keyframe is needed at once: no viewer can go on without one.
    mutating func request(now: MediaTime) -> Action {
        if case .requested = state { return .none }
        state = .requested(again: now + Self.encoderTimeout)
        return .request
    }

    /// A keyframe is needed by some viewers only: limited to one in `minimumInterval`.
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

    /// The encoder has made a keyframe. If `isPeriodic`, the next one is scheduled.
    mutating func keyframeCame(now: MediaTime, isPeriodic: Bool) {
        last = now
        state = isPeriodic ? .scheduled(now + Self.periodicInterval) : .idle
    }

    mutating func stop() {
        state = .idle
        last = nil
    }
}
