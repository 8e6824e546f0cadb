import BeamMedia
import CSDL2

/// Owns SDL's window.
@MainActor final class WindowHandle {
    /// In the display's units.
    static let minimumSize = PixelSize(width: 160, height: 90)

    let raw: OpaquePointer
    let video: SDLVideo
    private var mark: WindowMark?

    /// Opens a hidden, resizable window of `size` in the middle of the screen.
    init(video: SDLVideo, title: String, size: PixelSize, flags: SDL_WindowFlags...) throws(DisplayError) {
        let centred = Int32(bitPattern: UInt32(SDL_WINDOWPOS_CENTERED_MASK))
        let all = [SDL_WINDOW_RESIZABLE, SDL_WINDOW_ALLOW_HIGHDPI, SDL_WINDOW_HIDDEN] + flags
        guard
            let raw = SDL_CreateWindow(
                title, centred, centred, Int32(size.width), Int32(size.height), all.reduce(0) { $0 | $1.rawValue })
        else { throw .noWindow(reason: SDLVideo.error) }
        self.raw = raw
        self.video = video
        mark = WindowMark(raw)
        SDL_SetWindowMinimumSize(raw, Int32(Self.minimumSize.width), Int32(Self.minimumSize.height))
    }

    isolated deinit {
        // While the window and SDL's connection are still there.
        mark = nil
        SDL_DestroyWindow(raw)
    }

    /// The inner size in the display's units, which are pixels on X11.
    var size: PixelSize {
        var (width, height) = (Int32(0), Int32(0))
        SDL_GetWindowSize(raw, &width, &height)
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// The inner size in pixels.
    var pixelSize: PixelSize {
        var (width, height) = (Int32(0), Int32(0))
        SDL_GetWindowSizeInPixels(raw, &width, &height)
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// The position of the inner area on the desktop.
    var position: (x: Int, y: Int) {
        var (x, y) = (Int32(0), Int32(0))
        SDL_GetWindowPosition(raw, &x, &y)
        return (Int(x), Int(y))
    }

    /// The index of the display that shows the window.
    var displayIndex: Int32 { max(0, SDL_GetWindowDisplayIndex(raw)) }

    /// Moves and resizes the window; in fullscreen this applies after leaving it.
    func place(_ rect: PixelRect) {
        SDL_SetWindowSize(raw, Int32(rect.width), Int32(rect.height))
        SDL_SetWindowPosition(raw, Int32(rect.x), Int32(rect.y))
    }

    /// Pixels per display unit.
    var pixelRatio: Double {
        let units = size.width
        return units > 0 ? Double(pixelSize.width) / Double(units) : 1
    }

    func has(_ flag: SDL_WindowFlags) -> Bool { SDL_GetWindowFlags(raw) & flag.rawValue != 0 }
}
