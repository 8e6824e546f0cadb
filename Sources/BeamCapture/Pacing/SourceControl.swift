import BeamClock
import BeamMedia
import Glibc

/// How other threads start, pause and stop a source that runs by the clock.
///
/// Waiting is by the monotonic clock: setting the machine's date moves nothing.
final class SourceControl: @unchecked Sendable {
    // Sendable: every field below is read and written under `mutex` only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isActive = false
    private var isEnded = false
    /// How often the source became active.
    private var activations = 0

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    func setActive(_ active: Bool) {
        withLock {
            guard active != isActive else { return }
            isActive = active
            if active { activations += 1 }
            pthread_cond_broadcast(changed)
        }
    }

    func stop() {
        withLock {
            isEnded = true
            pthread_cond_broadcast(changed)
        }
    }

    var isStopped: Bool { withLock { isEnded } }

    /// Waits until the source is active. Returns which activation this is; nil: the source is stopped.
    func waitUntilActive() -> Int? {
        withLock {
            while !isEnded, !isActive { pthread_cond_wait(changed, mutex) }
            return isEnded ? nil : activations
        }
    }

    /// Waits until `time` has come, and says so: or false, at once, when activation number `activation` is over or the
    /// source is stopped. `distantFuture` never comes.
    func wait(until time: MediaTime, in activation: Int) -> Bool {
        withLock {
            var deadline = timespec(
                tv_sec: Int(time.nanoseconds / 1_000_000_000), tv_nsec: Int(time.nanoseconds % 1_000_000_000))
            while !isEnded, isActive, activations == activation {
                if time == .distantFuture {
                    pthread_cond_wait(changed, mutex)
                } else {
                    if MediaTime.now >= time { return true }
                    pthread_cond_timedwait(changed, mutex, &deadline)
                }
            }
            return false
        }
    }
}
