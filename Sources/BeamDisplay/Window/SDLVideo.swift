import BeamMedia
import CSDL2
import Glibc

/// SDL's video part, from its start to its end. There is at most one at a time, on the main thread.
@MainActor final class SDLVideo {
    /// `x11`, `wayland`, `kmsdrm`, …
    let driver: String
    /// Set when the display's server has gone: SDL must not be asked to end then, because Xlib ends the process.
    var isLost = false {
        didSet { Self.isUnusable = isLost }
    }
    /// SDL can't be ended after a loss, so it can't be started again either.
    private static var isUnusable = false

    /// Opens `display`, or what the environment names.
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
        // Keys are commands here. With text input on, an input method would swallow them.
        SDL_StopTextInput()
    }

    /// Sets what SDL takes from the environment only. To be called while nothing else runs that may read it.
    static func prepareEnvironment(display: String?) {
        if let display, environment("DISPLAY") != display { setenv("DISPLAY", display, 1) }
        // An input method reads thousands of ways to compose letters, for 9 ms: six digits are typed here, nothing else.
        setenv("XCOMPOSEFILE", "/dev/null", 0)
        // Where the session names no bus and has none at the usual place, libdbus would run a program that starts one.
        setenv("DBUS_SESSION_BUS_ADDRESS", "unix:runtime=yes", 0)
    }

    isolated deinit {
        if !isLost { SDL_QuitSubSystem(UInt32(SDL_INIT_VIDEO)) }
    }

    /// What SDL says went wrong last.
    static var error: String {
        let text = String(cString: SDL_GetError())
        return text.isEmpty ? "no reason is known" : text
    }

    static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The place of display number `index` on the desktop, without panels and docks where they are known.
    func usableBounds(_ index: Int32) -> PixelRect { bounds(index, SDL_GetDisplayUsableBounds) }

    /// The place of display number `index` on the desktop.
    func fullBounds(_ index: Int32) -> PixelRect { bounds(index, SDL_GetDisplayBounds) }

    private func bounds(_ index: Int32, _ ask: (Int32, UnsafeMutablePointer<SDL_Rect>?) -> Int32) -> PixelRect {
        var rect = SDL_Rect()
        guard ask(index, &rect) == 0, rect.w > 0, rect.h > 0 else {
            return PixelRect(x: 0, y: 0, width: 1280, height: 720)
        }
        return PixelRect(x: Int(rect.x), y: Int(rect.y), width: Int(rect.w), height: Int(rect.h))
    }

    private static func setHints(isX11Wanted: Bool) {
        // Ctrl-C belongs to the program.
        SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        SDL_SetHint(SDL_HINT_APP_NAME, "BeamRoom")
        SDL_SetHint(SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME, "Showing a shared screen")
        SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // Without this SDL draws the window's surface through OpenGL, emulated where there is no graphics processor.
        SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
        // The compositor stays on in fullscreen: that is what keeps pictures whole without waiting for the screen's beat.
        SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0")
        SDL_SetHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0")
        SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1")
        // A named X display wants X11; SDL_VIDEODRIVER in the environment still has the last word.
        if isX11Wanted { SDL_SetHint(SDL_HINT_VIDEODRIVER, "x11") } else { SDL_ResetHint(SDL_HINT_VIDEODRIVER) }
    }
}
