import BeamClock
import BeamMedia

/// Where a recording's pictures are, for its sound.
struct RecordingPosition: Hashable, Sendable {
    /// How many times the pictures have begun again.
    var loop: Int
    /// A picture's due time less its time in the file: what moves the sound onto the host's clock.
    var offset: Duration
    /// When this loop's first picture is due, or was.
    var start: MediaTime
    /// Sound from here on waits until the pictures have come further: they may be held up.
    var limit: MediaTime
}

/// Hands the pictures' position to the thread of the sound, and starts, pauses and stops that. Any thread may call it.
final class SoundSchedule: @unchecked Sendable {
    // Sendable: every field below is read and written under `changed`'s lock only.
    private let changed = MonotonicCondition()
    private var position: RecordingPosition?
    private var isActive = false
    private var isEnded = false

    /// Nil: the pictures pause.
    func publish(_ position: RecordingPosition?) {
        changed.withLock {
            self.position = position
            changed.broadcast()
        }
    }

    func setActive(_ isActive: Bool) {
        changed.withLock {
            self.isActive = isActive
            changed.broadcast()
        }
    }

    func stop() {
        changed.withLock {
            isEnded = true
            changed.broadcast()
        }
    }

    /// Waits until somebody listens while the pictures play. Nil once the sound is stopped.
    func waitForPosition() -> RecordingPosition? {
        changed.withLock {
            while !isEnded {
                if isActive, let position { return position }
                changed.wait()
            }
            return nil
        }
    }

    /// Waits until `time`, or for any change of `position` or of the state. `distantFuture` never comes.
    func wait(until time: MediaTime, from position: RecordingPosition) {
        changed.withLock {
            while !isEnded, isActive, self.position == position {
                if time == .distantFuture {
                    changed.wait()
                } else if MediaTime.now >= time || !changed.wait(until: time) {
                    return
                }
            }
        }
    }
}
