import Glibc

/// A lock, and waiting for a change under it. Waits end by the monotonic clock, so setting the machine's date moves none of them.
///
/// Foundation's `NSCondition` waits by the date, and Swift's C importer doesn't see `pthread_cond_clockwait`.
public final class MonotonicCondition: @unchecked Sendable {
    // Sendable: both are made for several threads, and only the pthread functions touch them.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    public init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` under the lock, which isn't recursive.
    public func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Lets go of the lock until it is signalled; may return without a signal. Under the lock only.
    public func wait() { pthread_cond_wait(condition, mutex) }

    /// The same, until the monotonic clock shows `time` at most. Returns false when that time has come.
    public func wait(until time: MediaTime) -> Bool {
        let nanoseconds = max(0, time.nanoseconds)
        var deadline = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &deadline) == 0
    }

    /// Wakes one that waits.
    public func signal() { pthread_cond_signal(condition) }

    /// Wakes all that wait.
    public func broadcast() { pthread_cond_broadcast(condition) }
}
