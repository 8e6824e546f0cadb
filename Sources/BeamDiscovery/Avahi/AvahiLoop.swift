import CAvahi

/// Avahi's own thread, and the lock that it holds while it runs callbacks.
///
/// Everything of Avahi's (clients, groups, browsers, resolvers, timers) is made, used and freed with this lock held:
/// by callbacks, which have it, or inside `withLock`.
final class AvahiLoop: Sendable {
    // Avahi's functions on a threaded poll are made to be called from several threads; the pointer never changes.
    private nonisolated(unsafe) let poll: OpaquePointer

    /// Nil when there is no memory for it.
    init?() {
        guard let poll = avahi_threaded_poll_new() else { return nil }
        self.poll = poll
    }

    deinit { avahi_threaded_poll_free(poll) }

    var api: UnsafePointer<AvahiPoll> { avahi_threaded_poll_get(poll) }

    /// Returns false when the system gives no thread.
    func start() -> Bool { avahi_threaded_poll_start(poll) == 0 }

    /// Waits until the thread has ended. Not to be called on that thread.
    func stop() { avahi_threaded_poll_stop(poll) }

    /// Not to be called on Avahi's thread: a callback has the lock already.
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        avahi_threaded_poll_lock(poll)
        defer { avahi_threaded_poll_unlock(poll) }
        return try body()
    }
}

/// Calls back once, on Avahi's thread.
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
                // The timer can't have gone: it is freed with the lock held, which this callback has.
                Unmanaged<AvahiTimer>.fromOpaque(userdata).takeUnretainedValue().onFire()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if let timeout { loop.api.pointee.timeout_free(timeout) }
    }
}
