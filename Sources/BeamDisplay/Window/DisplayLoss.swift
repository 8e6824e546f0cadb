import BeamMedia
import CSDL2
import Glibc
import Synchronization

/// What happens when the X server goes away, or the Wayland compositor.
///
/// Xlib calls a handler then, on the thread that has noticed it, and expects that the process ends there. If the handler
/// returned, Xlib, SDL and the OpenGL driver would go on with values that they never got, some of them pointers. So that
/// thread stays in the handler for ever, and the program ends on another one.
///
/// Drivers also speak with the server past Xlib, through libxcb, which reports the loss as a missing answer. Mesa's
/// software driver uses such an answer without a look (`check_xshm`), and crashes: in 13 of 51 tries in which the server
/// was killed while a picture was drawn. So a crash while the server is gone counts as its loss, too.
enum DisplayLoss {
    private static let action = Mutex<(@Sendable () -> Never)?>(nil)
    /// Readable once the loss was noticed. -1: not made yet.
    private static let signal = Atomic<CInt>(-1)
    /// The connection to the server; -1: none.
    private static let connection = Atomic<CInt>(-1)
    private static let crashes = [SIGSEGV, SIGBUS, SIGABRT]
    private static let formerHandlers = Mutex<[sigaction]>([])

    /// From now on, `action` is called once when the X server's connection is lost, on a thread of its own. The main
    /// thread may be blocked by then, so `action` must not wait for it, nor run what libraries do at a process's end.
    static func handle(with action: @escaping @Sendable () -> Never) {
        self.action.withLock { $0 = action }
        XSetIOErrorHandler { _ in DisplayLoss.notice() }
        guard signal.load(ordering: .acquiring) < 0 else { return }
        let descriptor = eventfd(0, CInt(EFD_CLOEXEC))
        guard descriptor >= 0 else { return }
        signal.store(descriptor, ordering: .releasing)
        // Made now, because a thread can't be made in a signal's handler.
        _ = StageThread("beam-lost") {
            var count: eventfd_t = 0
            while eventfd_read(descriptor, &count) != 0 {}
            DisplayLoss.action.withLock { $0 }?()
        }
    }

    /// `descriptor` is the connection to the server of the window that is open now.
    static func watch(_ descriptor: CInt) {
        let isFirst = connection.exchange(descriptor, ordering: .acquiringAndReleasing) < 0
        guard isFirst else { return }
        formerHandlers.withLock { former in
            for number in crashes {
                var (new, old) = (sigaction(), sigaction())
                new.sa_flags = SA_ONSTACK
                new.__sigaction_handler.sa_handler = { number in DisplayLoss.crashed(number) }
                sigaction(number, &new, &old)
                former.append(old)
            }
        }
    }

    /// In a signal's handler: only calls that are allowed there (signal-safety(7)).
    private static func crashed(_ number: CInt) {
        if signal.load(ordering: .acquiring) >= 0, isServerGone { notice() }
        // Not our concern. The instruction is tried again, with the handler from before.
        guard let index = crashes.firstIndex(of: number) else { return }
        _ = formerHandlers.withLockIfAvailable { former in
            if former.indices.contains(index) { sigaction(number, &former[index], nil) }
        }
    }

    private static var isServerGone: Bool {
        // A GNU addition that Swift doesn't see: the server has closed its end, whatever is left to read.
        let pollRemoteHangUp: Int16 = 0x2000
        var state = pollfd(fd: connection.load(ordering: .relaxed), events: pollRemoteHangUp, revents: 0)
        let gone = pollRemoteHangUp | Int16(POLLHUP) | Int16(POLLERR)
        // The kernel closes a dead server's connections one after the other, so this one may follow the driver's.
        return poll(&state, 1, 500) > 0 && state.revents & gone != 0
    }

    /// Runs `body`, which may wait for a Wayland compositor, and notices meanwhile if that goes: SDL's
    /// `Wayland_ShowWindow` asks a lost connection again and again whether the window is there, for ever.
    ///
    /// - Parameter descriptor: of the connection to the compositor.
    static func notice(_ descriptor: CInt, during body: () -> Void) {
        let end = eventfd(0, CInt(EFD_CLOEXEC))
        guard end >= 0 else { return body() }
        defer { close(end) }
        let watcher = StageThread("beam-showing") {
            // A lost connection is reported without being asked for.
            var states = [
                pollfd(fd: end, events: Int16(POLLIN), revents: 0), pollfd(fd: descriptor, events: 0, revents: 0),
            ]
            while poll(&states, nfds_t(states.count), -1) < 0, errno == EINTR {}
            if states[0].revents == 0 { eventfd_write(signal.load(ordering: .acquiring), 1) }
        }
        body()
        eventfd_write(end, 1)
        watcher.join()
    }

    /// The display has gone: the calling thread waits for the program's end.
    static func notice() -> Never {
        eventfd_write(signal.load(ordering: .acquiring), 1)
        while true { pause() }
    }
}
