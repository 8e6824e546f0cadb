import CSDL2
import Synchronization

/// X11 functions that SDL lacks: window manager detection, and survival when the server goes away.
@MainActor final class X11Connection {
    private let display: OpaquePointer
    private let root: Window
    /// Readable when the server has sent something.
    let fileDescriptor: Int32

    /// Nil if `window` isn't on an X server.
    init?(_ window: WindowHandle) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_X11,
            let display = info.info.x11.display
        else { return nil }
        self.display = display
        root = XDefaultRootWindow(display)
        fileDescriptor = XConnectionNumber(display)

        // By default Xlib prints a message and ends the process when the server goes. With both handlers set, its calls
        // return without effect instead.
        lostConnection.store(false, ordering: .relaxed)
        XSetIOErrorHandler { _ in 0 }
        XSetIOErrorExitHandler(
            display,
            { display, _ in
                lostConnection.store(true, ordering: .relaxed)
                // Xlib holds the connection's lock and doesn't expect to return. Unless it is released, libGL's cleanup
                // deadlocks when the process ends on another thread.
                XUnlockDisplay(display)
            }, nil)
    }

    var isLost: Bool { lostConnection.load(ordering: .relaxed) }

    /// Whether a compositing manager runs (EWMH, `_NET_WM_CM_Sn`).
    var hasCompositor: Bool {
        XGetSelectionOwner(display, atom("_NET_WM_CM_S\(XDefaultScreen(display))")) != 0
    }

    /// Whether a window manager with fullscreen support runs (EWMH, `_NET_SUPPORTING_WM_CHECK`).
    var hasWindowManager: Bool {
        var (type, format, count, rest) = (Atom(0), Int32(0), UInt(0), UInt(0))
        var value: UnsafeMutablePointer<UInt8>?
        XGetWindowProperty(
            display, root, atom("_NET_SUPPORTING_WM_CHECK"), 0, 1, 0, Atom(XA_WINDOW), &type, &format, &count, &rest,
            &value)
        if let value { XFree(value) }
        return count > 0
    }

    private func atom(_ name: String) -> Atom { XInternAtom(display, name, 0) }
}

/// Set by Xlib's handler, which has no user data. There is one connection at a time.
private let lostConnection = Atomic<Bool>(false)
