import BeamClock
import BeamMedia

/// Starts, pauses and stops a source that runs on a schedule. Any thread may call it.
///
/// Waits use the monotonic clock, so setting the system's date has no effect.
final class SourceControl: @unchecked Sendable {
    // Sendable: every field below is read and written under `changed`'s lock only.
    private let changed = MonotonicCondition()
    private var isActive = false
    private var isEnded = false
    /// How many times the source has become active.
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

    /// Waits until the source is active. Returns the number of this activation, or nil once the source is stopped.
    func waitUntilActive() -> Int? {
        changed.withLock {
            while !isEnded, !isActive { changed.wait() }
            return isEnded ? nil : activations
        }
    }

    /// Waits until `time` and returns true. Returns false as soon as activation number `activation` ends or the source
    /// is stopped. `distantFuture` never comes.
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
