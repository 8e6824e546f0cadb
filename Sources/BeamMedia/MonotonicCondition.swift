// For pthread's condition variables: the standard library has none.
import Glibc

/// A mutex with a condition variable that uses the monotonic clock, so that setting the system's date doesn't affect
/// waits.
///
/// Foundation's `NSCondition` waits by the system's date, and Swift doesn't import `pthread_cond_clockwait`.
public final class MonotonicCondition: @unchecked Sendable {
    // Sendable: only pthread functions, which are thread-safe, access the two.
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

    /// Waits for a signal, releasing the lock meanwhile; may return without one. Needs the lock.
    public func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits like `wait()`, at most until `time`. False once that time has passed.
    public func wait(until time: MediaTime) -> Bool {
        let nanoseconds = max(0, time.nanoseconds)
        var deadline = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &deadline) == 0
    }

    /// Wakes one waiting thread.
    public func signal() { pthread_cond_signal(condition) }

    /// Wakes all waiting threads.
    public func broadcast() { pthread_cond_broadcast(condition) }
}
