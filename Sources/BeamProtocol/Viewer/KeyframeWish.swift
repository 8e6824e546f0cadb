import BeamMedia

/// When a viewer asks for a keyframe: at once when nothing else can mend its picture, and again until one has come.
struct KeyframeWish: Sendable {
    /// From one request to the next: the way there, an encoder's time and the way back, on any local network.
    static let repetition = Duration.milliseconds(100)

    private var next: MediaTime?
    private var isAsked = false
    /// Keyframes that were asked for so far, however often.
    private(set) var count: UInt64 = 0

    /// When to call `take`; nil while no keyframe is wanted.
    var deadline: MediaTime? { next }

    /// Whether one is wanted may have changed.
    mutating func update(isWanted: Bool, now: MediaTime) {
        if isWanted {
            next = next ?? now
        } else {
            next = nil
            isAsked = false
        }
    }

    /// True when it is time to ask.
    mutating func take(now: MediaTime) -> Bool {
        guard let due = next, due <= now else { return false }
        next = now + Self.repetition
        if !isAsked { count += 1 }
        isAsked = true
        return true
    }
}
