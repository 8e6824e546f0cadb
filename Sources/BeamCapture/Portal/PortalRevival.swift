import BeamMedia

/// When a session that has ended is begun again, and until when. It has no clock of its own.
///
/// GNOME ends all sessions when its screen is locked, and begins none before it is unlocked. So an end means that the person
/// wants no more only if the screen isn't locked.
struct PortalRevival {
    enum Step: Equatable {
        /// Nil: until something happens.
        case wait(until: MediaTime?)
        /// Begin a session; give it up if it isn't there by then.
        case attempt(until: MediaTime)
        case giveUp(PortalTrouble)
    }

    /// How long it is tried. A compositor takes some seconds to restart.
    static let patience = Duration.seconds(60)
    static let firstPause = Duration.milliseconds(500)
    static let longestPause = Duration.seconds(8)
    /// A desktop may end the session before it says that the screen is locked: GNOME's lock screen takes 0.3 s to come down.
    static let lockNotice = Duration.seconds(2)

    private enum Phase {
        /// Somebody may have ended it.
        case ended(since: MediaTime)
        case locked
        /// `next`: nil while an attempt is made.
        case trying(end: MediaTime, next: MediaTime?, pause: Duration)
    }

    private let reason: String
    private var phase: Phase
    private var hasFailed = false

    init(after end: PortalCapture.End, now: MediaTime) {
        switch end {
        case .closed:
            reason = "the desktop ended it with the screen locked"
            phase = .ended(since: now)
        case .broken(let reason):
            self.reason = reason
            phase = Self.begin(now)
            hasFailed = true
        }
    }

    private static func begin(_ now: MediaTime) -> Phase {
        .trying(end: now + patience, next: now + firstPause, pause: firstPause)
    }

    /// What viewers are told; nil: what they were told before.
    var visibility: SourceVisibility? {
        switch phase {
        case .ended: nil
        case .locked: .screenLocked
        case .trying: hasFailed ? .monitorOff : nil
        }
    }

    /// What to do now. Called again, an attempt has failed.
    mutating func next(isLocked: Bool, now: MediaTime) -> Step {
        if isLocked {
            phase = .locked
            hasFailed = false
            return .wait(until: nil)
        }
        switch phase {
        case .ended(let since):
            let deadline = since + Self.lockNotice
            return now < deadline ? .wait(until: deadline) : .giveUp(.ended)
        case .locked:
            phase = Self.begin(now)
            return next(isLocked: false, now: now)
        case .trying(let end, let due, let pause):
            guard now < end else { return .giveUp(.lost(reason: reason)) }
            guard let due else {
                hasFailed = true
                let due = min(now + pause, end)
                phase = .trying(end: end, next: due, pause: pause)
                return .wait(until: due)
            }
            guard now >= due else { return .wait(until: due) }
            phase = .trying(end: end, next: nil, pause: min(pause * 2, Self.longestPause))
            return .attempt(until: end)
        }
    }
}
