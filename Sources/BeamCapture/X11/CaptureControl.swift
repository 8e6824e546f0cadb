import BeamClock
import BeamMedia
import CXCB
import Glibc
import Synchronization

/// What other threads tell the capture thread, and how they wake it.
final class CaptureControl: Sendable {
    private let stopped = Atomic(false)
    private let active = Atomic(false)
    private let bufferAwaited = Atomic(false)
    /// An eventfd; -1 where the system has none left, which `init` reports.
    private let descriptor: CInt

    /// Nil where the system has no file descriptor left.
    init?() {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }
    var isActive: Bool { active.load(ordering: .sequentiallyConsistent) }

    func stop() {
        stopped.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    func setActive(_ isActive: Bool) {
        let wasActive = active.exchange(isActive, ordering: .sequentiallyConsistent)
        if wasActive != isActive { wake() }
    }

    /// The capture thread has no free buffer: the next one that comes back wakes it. Look again for one after this call.
    func awaitBuffer() { bufferAwaited.store(true, ordering: .sequentiallyConsistent) }

    /// A buffer has come back; any thread may say so.
    func bufferReturned() {
        if bufferAwaited.exchange(false, ordering: .sequentiallyConsistent) { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Waits until another thread wakes this one, the X server (`server`: its connection's descriptor) has sent something, or
    /// `deadline`. May return early.
    func wait(server: CInt?, until deadline: MediaTime?) {
        var descriptors = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            // A negative descriptor is left out.
            pollfd(fd: server ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        if let deadline {
            let nanoseconds = max(0, (deadline - .now).inNanoseconds)
            var timeout = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            ppoll(&descriptors, 2, &timeout, nil)
        } else {
            ppoll(&descriptors, 2, nil, nil)
        }
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        }
    }
}

/// Runs `body` with SIGPIPE held back: libxcb writes to the server's socket without a word against it, and a server that has
/// gone away must end in an error, not end the program.
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
