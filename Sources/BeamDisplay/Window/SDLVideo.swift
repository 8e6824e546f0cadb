import BeamMedia
import CSDL2
import Glibc

/// Owns SDL's video subsystem. At most one at a time, on the main thread.
@MainActor final class SDLVideo {
    /// `x11`, `wayland`, `kmsdrm`, …
    let driver: String
    /// Set when the display server has gone. SDL must not be shut down then, because Xlib would end the process.
    var isLost = false {
        didSet { Self.isUnusable = isLost }
    }
    /// After a loss SDL can't be shut down, so it can't be started again either.
    private static var isUnusable = false

    /// Opens `display`, or the environment's if nil.
    init(display: String?) throws(DisplayError) {
        guard !Self.isUnusable else {
            throw .noDisplay(name: display ?? Self.environment("DISPLAY"), reason: "the one in use before went away")
        }
        Self.setHints(isX11Wanted: display != nil)
        Self.prepareEnvironment(display: display)
        SDL_SetMainReady()
        guard SDL_InitSubSystem(UInt32(SDL_INIT_VIDEO)) == 0 else {
            throw .noDisplay(
                name: Self.environment("DISPLAY") ?? Self.environment("WAYLAND_DISPLAY"), reason: Self.error)
        }
        driver = SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        // Keys are commands here. With text input on, an input method would intercept them.
        SDL_StopTextInput()
    }

    /// Sets the variables that SDL reads from the environment. Must be called while no other thread may read it.
    static func prepareEnvironment(display: String?) {
        if let display, environment("DISPLAY") != display { setenv("DISPLAY", display, 1) }
        // Xlib's input method would parse the system's compose table, which takes 9 ms. Six digits need no compose
        // sequences.
        setenv("XCOMPOSEFILE", "/dev/null", 0)
        // Without a session bus, libdbus would start one by running a program.
        setenv("DBUS_SESSION_BUS_ADDRESS", "unix:runtime=yes", 0)
    }

    isolated deinit {
        if !isLost { SDL_QuitSubSystem(UInt32(SDL_INIT_VIDEO)) }
    }

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

    private static func setHints(isX11Wanted: Bool) {
        // Ctrl-C is handled by the program.
        SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        SDL_SetHint(SDL_HINT_APP_NAME, "BeamRoom")
        SDL_SetHint(SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME, "Showing a shared screen")
        SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // Otherwise SDL draws the window's surface through OpenGL, possibly in software.
        SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
        // Keep the compositor in fullscreen: it prevents tearing without waiting for the vertical blank.
        SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0")
        SDL_SetHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0")
        SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1")
        // A given X display implies X11, but SDL_VIDEODRIVER in the environment has precedence.
        if isX11Wanted { SDL_SetHint(SDL_HINT_VIDEODRIVER, "x11") } else { SDL_ResetHint(SDL_HINT_VIDEODRIVER) }
    }
}
