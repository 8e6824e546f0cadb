import CSDL2
import Synchronization

/// What SDL leaves to do on X11: who manages windows, and what happens when the server goes away.
@MainActor final class X11Connection {
    private let display: OpaquePointer
    private let root: Window
    /// Readable when the server has sent something.
    let fileDescriptor: Int32

    /// Nil when `window` isn't on an X server.
    init?(_ window: WindowHandle) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_X11,
            let display = info.info.x11.display
        else { return nil }
        self.display = display
        root = XDefaultRootWindow(display)
        fileDescriptor = XConnectionNumber(display)

        // Left to itself, Xlib prints a line of its own and ends the process when the server goes. With both handlers
        // set, its calls return and do nothing from then on.
        lostConnection.store(false, ordering: .relaxed)
        XSetIOErrorHandler { _ in 0 }
        XSetIOErrorExitHandler(
            display,
            { display, _ in
                lostConnection.store(true, ordering: .relaxed)
                // Xlib has locked the connection and expects never to come back. Left so, libGL's own clearing up would
                // wait for ever when the process ends from another thread.
                XUnlockDisplay(display)
            }, nil)
    }

    /// True once the server has gone.
    var isLost: Bool { lostConnection.load(ordering: .relaxed) }

    /// Whether a compositing manager puts the windows together (EWMH, `_NET_WM_CM_Sn`).
    var hasCompositor: Bool {
        XGetSelectionOwner(display, atom("_NET_WM_CM_S\(XDefaultScreen(display))")) != 0
    }

    /// Whether a window manager is there that knows fullscreen (EWMH, `_NET_SUPPORTING_WM_CHECK`).
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

/// Set by Xlib's handler, which knows nothing but the connection; there is one connection at a time.
private let lostConnection = Atomic<Bool>(false)
