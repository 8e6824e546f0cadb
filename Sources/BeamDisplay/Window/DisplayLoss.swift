import BeamMedia
import CSDL2
import Glibc
import Synchronization

/// What happens when the X server goes away.
///
/// Xlib calls a handler then, on the thread that has noticed it, and expects that the process ends there. If the handler
/// returned, Xlib, SDL and the OpenGL driver would go on with values that they never got, some of them pointers. So that
/// thread stays in the handler for ever, and the program ends on another one.
enum DisplayLoss {
    private static let action = Mutex<(@Sendable () -> Never)?>(nil)
    private static let isNoticed = Atomic(false)

    /// From now on, `action` is called once when a connection of Xlib is lost, on a thread of its own. The main thread
    /// may be blocked by then, so `action` must not wait for it, nor run what libraries do at a process's end.
    static func handle(with action: @escaping @Sendable () -> Never) {
        self.action.withLock { $0 = action }
        XSetIOErrorHandler { _ in DisplayLoss.notice() }
    }

    private static func notice() -> Never {
        if !isNoticed.exchange(true, ordering: .acquiringAndReleasing), let action = action.withLock({ $0 }) {
            _ = StageThread("beam-ending") { action() }
        }
        while true { pause() }
    }
}
