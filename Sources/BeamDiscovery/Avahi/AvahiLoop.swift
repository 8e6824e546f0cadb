import CAvahi

/// Avahi's event loop thread, and the lock that it holds during callbacks.
///
/// All Avahi objects (clients, groups, browsers, resolvers, timers) must be created, used and freed with this lock
/// held: in callbacks, which hold it, or inside `withLock`.
final class AvahiLoop: Sendable {
    // Sendable: threaded-poll functions may be called from any thread, and the pointer never changes.
    private nonisolated(unsafe) let poll: OpaquePointer

    /// Nil if there is no memory.
    init?() {
        guard let poll = avahi_threaded_poll_new() else { return nil }
        self.poll = poll
    }

    deinit { avahi_threaded_poll_free(poll) }

    var api: UnsafePointer<AvahiPoll> { avahi_threaded_poll_get(poll) }

    /// False if no thread can be created.
    func start() -> Bool { avahi_threaded_poll_start(poll) == 0 }

    /// Waits until the thread has ended. Must not be called on that thread.
    func stop() { avahi_threaded_poll_stop(poll) }

    /// Must not be called on Avahi's thread, whose callbacks hold the lock already.
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        avahi_threaded_poll_lock(poll)
        defer { avahi_threaded_poll_unlock(poll) }
        return try body()
    }
}

/// Calls `onFire` once, on Avahi's thread.
final class AvahiTimer {
    private let loop: AvahiLoop
    private let onFire: () -> Void
    private var timeout: OpaquePointer?

    init(_ loop: AvahiLoop, after milliseconds: UInt32, onFire: @escaping () -> Void) {
        self.loop = loop
        self.onFire = onFire
        var deadline = timeval()
        avahi_elapse_time(&deadline, milliseconds, 0)
        timeout = loop.api.pointee.timeout_new(
            loop.api, &deadline,
            { _, userdata in
                guard let userdata else { return }
                // The timer is still alive: it is freed only with the lock held, which this callback holds.
                Unmanaged<AvahiTimer>.fromOpaque(userdata).takeUnretainedValue().onFire()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if let timeout { loop.api.pointee.timeout_free(timeout) }
    }
}
