import CSDL2
import Glibc
import Synchronization

/// Wakes the main thread from any thread. Several calls between two `take`s count as one.
final class WakeSignal: Sendable {
    private let isRaised = Atomic<Bool>(false)
    /// Readable while raised; -1 if SDL's event queue is used.
    let fileDescriptor: Int32
    private let eventType: UInt32

    /// - Parameter usesDescriptor: the main thread waits on `fileDescriptor`. On X11 that is faster than SDL's queue,
    ///   which sends an event to itself through the X server, and works when the server is busy or gone.
    init(usesDescriptor: Bool) {
        fileDescriptor = usesDescriptor ? eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) : -1
        eventType = fileDescriptor < 0 ? SDL_RegisterEvents(1) : 0
    }

    deinit {
        if fileDescriptor >= 0 { close(fileDescriptor) }
    }

    /// Any thread may call this.
    func raise() {
        guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if fileDescriptor >= 0 {
            eventfd_write(fileDescriptor, 1)
        } else {
            var event = SDL_Event()
            event.type = eventType
            SDL_PushEvent(&event)
        }
    }

    /// Whether it was raised since the last `take`.
    func take() -> Bool {
        if fileDescriptor >= 0 {
            // Clear the descriptor before the flag, so that a `raise` in between is reported by this call.
            var count: eventfd_t = 0
            eventfd_read(fileDescriptor, &count)
        }
        return isRaised.exchange(false, ordering: .acquiringAndReleasing)
    }
}
