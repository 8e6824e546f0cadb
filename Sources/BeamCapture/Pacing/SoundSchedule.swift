import BeamClock
import BeamMedia

/// Where the pictures of a recording or a pattern are, for their sound.
struct PicturePosition: Hashable, Sendable {
    /// How many times the pictures have begun again.
    var loop: Int
    /// A picture's due time less its time in the file or pattern: what moves the sound onto the host's clock.
    var offset: Duration
    /// When this loop's first picture is due, or was.
    var start: MediaTime
    /// Sound from here on waits until the pictures have come further: they may be held up.
    var limit: MediaTime
}

/// Hands the pictures' position to the thread of the sound, and starts, pauses and stops that. Any thread may call it.
///
/// Waits use the monotonic clock, as those of `SourceControl`.
final class SoundSchedule: @unchecked Sendable {
    // Sendable: every field below is read and written under `changed`'s lock only.
    private let changed = MonotonicCondition()
    private var position: PicturePosition?
    private var isActive = false
    private var isEnded = false

    /// Nil: the pictures pause.
    func publish(_ position: PicturePosition?) {
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
    func waitForPosition() -> PicturePosition? {
        changed.withLock {
            while !isEnded {
                if isActive, let position { return position }
                changed.wait()
            }
            return nil
        }
    }

    /// Waits until `time` and returns true, or false as soon as `position` or the state changes. `distantFuture` never
    /// comes.
    @discardableResult
    func wait(until time: MediaTime, from position: PicturePosition) -> Bool {
        changed.withLock {
            while !isEnded, isActive, self.position == position {
                if time == .distantFuture {
                    changed.wait()
                } else {
                    if MediaTime.now >= time { return true }
                    _ = changed.wait(until: time)
                }
            }
            return false
        }
    }
}
