import BeamClock
import BeamMedia

/// How other threads start, pause and stop a source that runs by the clock.
///
/// Waiting is by the monotonic clock: setting the machine's date moves nothing.
final class SourceControl: @unchecked Sendable {
    // Sendable: every field below is read and written under `changed`'s lock only.
    private let changed = MonotonicCondition()
    private var isActive = false
    private var isEnded = false
    /// How often the source became active.
    private var activations = 0

    func setActive(_ active: Bool) {
        changed.withLock {
            guard active != isActive else { return }
            isActive = active
            if active { activations += 1 }
            changed.broadcast()
        }
    }

    func stop() {
        changed.withLock {
            isEnded = true
            changed.broadcast()
        }
    }

    var isStopped: Bool { changed.withLock { isEnded } }

    /// Waits until the source is active. Returns which activation this is; nil: the source is stopped.
    func waitUntilActive() -> Int? {
        changed.withLock {
            while !isEnded, !isActive { changed.wait() }
            return isEnded ? nil : activations
        }
    }

    /// Waits until `time` has come, and says so: or false, at once, when activation number `activation` is over or the
    /// source is stopped. `distantFuture` never comes.
    func wait(until time: MediaTime, in activation: Int) -> Bool {
        changed.withLock {
            while !isEnded, isActive, activations == activation {
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
