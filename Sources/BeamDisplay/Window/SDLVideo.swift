import BeamMedia
import CErrorStream
import CSDL2
import Glibc

/// Owns SDL's video subsystem. At most one at a time, on the main thread.
@MainActor final class SDLVideo {
    /// `x11`, `wayland`, `kmsdrm`, …
    let driver: String

    /// Opens `display`, or the environment's if nil.
    ///
    /// - Parameter composes: whether dead keys and the Compose key are used in text.
    init(display: String?, composes: Bool) throws(DisplayError) {
        Self.setHints()
        try Self.prepareEnvironment(display: display, composes: composes)
        SDL_SetMainReady()
        guard Self.start(Self.drivers(display: display)) else {
            let name = Self.environment("DISPLAY") ?? Self.environment("WAYLAND_DISPLAY")
            throw .noDisplay(name: name, reason: Self.error)
        }
        driver = SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        // SDL's own handler ends the program, for example because a window manager has gone at the wrong moment.
        XSetErrorHandler { _, _ in 0 }
        // Keys are commands here. With text input on, an input method would intercept them.
        SDL_StopTextInput()
    }

    /// Starts the first driver that works. Nil: those of SDL_VIDEODRIVER.
    private static func start(_ drivers: [String]?) -> Bool {
        guard let drivers else {
            SDL_ResetHint(SDL_HINT_VIDEODRIVER)
            return SDL_InitSubSystem(UInt32(SDL_INIT_VIDEO)) == 0
        }
        return drivers.contains { driver in
            SDL_SetHint(SDL_HINT_VIDEODRIVER, driver)
            // Where the compositor wants windows to draw title bars themselves (cage), SDL 2.26 makes the window
            // once more with libdecor, and that one is never shown. Without libdecor it has no title bar there. Where
            // nothing is said about title bars (GNOME) libdecor draws it.
            if driver == "wayland", WaylandSocket.saysWhoDrawsTitleBars {
                SDL_SetHint(SDL_HINT_VIDEO_WAYLAND_ALLOW_LIBDECOR, "0")
            }
            return SDL_InitSubSystem(UInt32(SDL_INIT_VIDEO)) == 0
        }
    }

    /// The video drivers that can show something to a person. Without such a list SDL would end up with one that draws
    /// into memory only. Nil: the person has chosen with SDL_VIDEODRIVER.
    private static func drivers(display: String?) -> [String]? {
        guard environment("SDL_VIDEODRIVER") == nil else { return nil }
        if display != nil { return ["x11"] }
        var drivers: [String] = []
        let hasCompositor = WaylandSocket.answers
        // In a Wayland session its own driver comes first: a window of XWayland is blurred at fractional scales.
        if hasCompositor, WaylandSocket.isNamed { drivers.append("wayland") }
        if environment("DISPLAY") != nil { drivers.append("x11") }
        if hasCompositor, !WaylandSocket.isNamed { drivers.append("wayland") }
        // The console of a machine without a desktop.
        if drivers.isEmpty, access("/dev/dri/card0", R_OK | W_OK) == 0 { drivers.append("kmsdrm") }
        return drivers
    }

    /// The display to which a connection of our own is open, which tells when the server goes.
    private static var watched: String?

    /// Sets the variables that SDL reads from the environment, and finds out whether there is a display, before anything
    /// else begins. Must be called while no other thread may read the environment.
    static func prepareEnvironment(display: String?, composes: Bool) throws(DisplayError) {
        if let display, environment("DISPLAY") != display { setenv("DISPLAY", display, 1) }
        // Xlib's input method would parse the system's compose table, which takes 9 ms. Six digits need no compose
        // sequences.
        if !composes { setenv("XCOMPOSEFILE", "/dev/null", 0) }
        // Without a session bus, libdbus would start one by running a program.
        setenv("DBUS_SESSION_BUS_ADDRESS", "unix:runtime=yes", 0)
        guard let drivers = drivers(display: display) else { return }
        guard !drivers.isEmpty else {
            // Wayland's display may be named, but not be there.
            throw .noDisplay(name: environment("WAYLAND_DISPLAY"), reason: "no compositor answers there")
        }
        guard drivers == ["x11"], let name = environment("DISPLAY"), name != watched else { return }
        // libxcb writes the server's reason for a refusal to standard error, as it came.
        beam_error_stream_pause()
        defer { beam_error_stream_resume() }
        guard let connection = XOpenDisplay(nil) else {
            throw .noDisplay(name: name, reason: "no X server answers there, or it refuses this program")
        }
        // Stays open: OpenGL's driver uses the display before a window exists whose connection could be watched.
        watched = name
        DisplayLoss.watch(XConnectionNumber(connection))
    }

    isolated deinit { SDL_QuitSubSystem(UInt32(SDL_INIT_VIDEO)) }

    /// SDL's last error message.
    static var error: String {
        let text = String(cString: SDL_GetError())
        return text.isEmpty ? "no reason is known" : text
    }

    static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The bounds of display `index` on the desktop, without panels and docks if known.
    func usableBounds(_ index: Int32) -> PixelRect { bounds(index, SDL_GetDisplayUsableBounds) }

    /// The bounds of display `index` on the desktop.
    func fullBounds(_ index: Int32) -> PixelRect { bounds(index, SDL_GetDisplayBounds) }

    private func bounds(_ index: Int32, _ ask: (Int32, UnsafeMutablePointer<SDL_Rect>?) -> Int32) -> PixelRect {
        var rect = SDL_Rect()
        guard ask(index, &rect) == 0, rect.w > 0, rect.h > 0 else {
            return PixelRect(x: 0, y: 0, width: 1280, height: 720)
        }
        return PixelRect(x: Int(rect.x), y: Int(rect.y), width: Int(rect.w), height: Int(rect.h))
    }

    private static func setHints() {
        // Ctrl-C is handled by the program.
        SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        SDL_SetHint(SDL_HINT_APP_NAME, "BeamRoom")
        // What an input method composes isn't cut to 31 bytes.
        SDL_SetHint(SDL_HINT_IME_SUPPORT_EXTENDED_TEXT, "1")
        SDL_SetHint(SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME, "Showing a shared screen")
        SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // Otherwise SDL draws the window's surface through OpenGL, possibly in software.
        SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
        // Keep the compositor in fullscreen: it prevents tearing without waiting for the vertical blank.
        SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0")
        SDL_SetHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0")
        SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1")
    }
}
