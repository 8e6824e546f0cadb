import BeamMedia

/// What a relay makes of what it receives: the same bytes, with the times at which the first host captured them.
extension EncodedFrame {
    /// - Parameter now: counts as the time of capture where that isn't known. Such a frame is passed on as a repeated one, of
    ///   which no times are told.
    public init(relaying frame: ReceivedFrame, now: MediaTime) {
        self.init(
            unit: frame.unit, captureTime: frame.captureTime ?? now, stages: frame.stages,
            isRepeated: frame.captureTime == nil)
    }
}

extension EncodedSound {
    /// `ReceivedSound.number` is passed on beside it.
    public init(relaying sound: ReceivedSound, now: MediaTime) {
        self.init(
            full: sound.isReduced ? nil : sound.opus, reduced: sound.isReduced ? sound.opus : nil,
            time: sound.localTime ?? now, begins: sound.begins, ends: sound.ends)
    }
}

/// When a relay asks its host for a keyframe: at most once a second, however many of its viewers ask.
public struct RelayedKeyframes: Sendable {
    public static let interval = Duration.seconds(1)

    /// What is to be done about a request.
    public enum Action: Sendable, Hashable {
        case ask
        /// `due` is to be called then.
        case wait(until: MediaTime)
        /// The host is going to be asked anyway.
        case nothing
    }

    private var last: MediaTime?
    private var isWaiting = false

    public init() {}

    /// A viewer needs a keyframe.
    public mutating func wanted(now: MediaTime) -> Action {
        guard !isWaiting else { return .nothing }
        guard let last, now - last < Self.interval else {
            self.last = now
            return .ask
        }
        isWaiting = true
        return .wait(until: last + Self.interval)
    }

    /// The time has come. Answers whether to ask now.
    public mutating func due(now: MediaTime) -> Bool {
        guard isWaiting else { return false }
        isWaiting = false
        last = now
        return true
    }

    /// A keyframe has come, for whomever: it answers what was asked for before.
    public mutating func came() { isWaiting = false }
}
