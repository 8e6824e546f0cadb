import BeamClock
import BeamMedia
import CXCB
import Glibc
import Synchronization

/// Carries commands from other threads to the capture thread, and wakes it.
final class CaptureControl: Sendable {
    private let stopped = Atomic(false)
    /// How often the capture was switched on or off; it is on while the number is odd.
    private let switches = Atomic(0)
    private let bufferAwaited = Atomic(false)
    private let locked = Atomic(false)
    private let pointerApart = Atomic(false)
    /// An eventfd.
    private let descriptor: CInt

    /// Nil if the process has no file descriptor left.
    init?() {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Called by the capture thread before all else.
    static func enterThread() {
        // The kernel's default timer slack delays wakeups by up to 50 µs.
        beam_set_timer_slack(1)
    }

    var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }
    /// The number of the present activation; nil: inactive. A pause that was too short for the capture thread to see shows
    /// in a new number.
    var activation: Int? {
        let count = switches.load(ordering: .sequentiallyConsistent)
        return count.isMultiple(of: 2) ? nil : count
    }

    /// Whether the screen is locked, as far as is known.
    var isScreenLocked: Bool { locked.load(ordering: .sequentiallyConsistent) }

    func setScreenLocked(_ isLocked: Bool) {
        locked.store(isLocked, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Whether the pointer is told and left out of the pictures.
    var isPointerApart: Bool { pointerApart.load(ordering: .sequentiallyConsistent) }

    func setPointerApart(_ isApart: Bool) {
        pointerApart.store(isApart, ordering: .sequentiallyConsistent)
        wake()
    }

    func stop() {
        stopped.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    func setActive(_ isActive: Bool) {
        var count = switches.load(ordering: .sequentiallyConsistent)
        while count.isMultiple(of: 2) == isActive {
            let outcome = switches.compareExchange(
                expected: count, desired: count + 1, ordering: .sequentiallyConsistent)
            if outcome.exchanged { return wake() }
            count = outcome.original
        }
    }

    /// Makes the next returned buffer wake the capture thread. The caller has to look for a free buffer once more after
    /// this call, in case one was returned just before.
    func awaitBuffer() { bufferAwaited.store(true, ordering: .sequentiallyConsistent) }

    /// Any thread may call this when it returns a buffer.
    func bufferReturned() {
        if bufferAwaited.exchange(false, ordering: .sequentiallyConsistent) { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Waits until another thread wakes this one, the X server has sent something on connection descriptor `server`, or
    /// `deadline` has passed. May return early.
    func wait(server: CInt?, until deadline: MediaTime?) {
        wait(for: server.map { [pollfd(fd: $0, events: Int16(POLLIN), revents: 0)] } ?? [], until: deadline)
    }

    /// The same for any descriptors.
    func wait(for others: [pollfd], until deadline: MediaTime?) {
        var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)] + others
        let count = nfds_t(descriptors.count)
        if let deadline {
            let nanoseconds = max(0, (deadline - .now).inNanoseconds)
            var timeout = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            ppoll(&descriptors, count, &timeout, nil)
        } else {
            ppoll(&descriptors, count, nil, nil)
        }
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        }
    }
}

/// Runs `body` with SIGPIPE blocked. libxcb writes to the server's socket without MSG_NOSIGNAL, so that a server that
/// has gone would end the program instead of causing an error.
func withoutBrokenPipeSignal<Value: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
    var pipe = sigset_t()
    var before = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, &before)
    defer {
        if sigismember(&before, SIGPIPE) == 0 {
            var atOnce = timespec()
            while sigtimedwait(&pipe, nil, &atOnce) == SIGPIPE {}
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
    }
    return try body()
}
