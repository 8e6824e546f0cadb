import BeamClock
import BeamMedia
import CSDL2

/// The window's position and size: fullscreen or not, and fitted to the picture until a person resizes it.
@MainActor final class WindowPlacement {
    private let window: WindowHandle
    private let x11: X11Connection?
    private(set) var isFullscreen = false
    /// The size that the program gave the window. While the window still has it, nobody has resized it.
    private var fitted: PixelSize
    /// The rectangle to return to from fullscreen without a window manager.
    private var windowed: PixelRect?
    /// The picture size that the window was fitted to.
    private var fittedPicture = PixelSize(width: 0, height: 0)
    /// The rectangle to use after fullscreen, if the size was changed meanwhile.
    private var next: PixelRect?
    /// How long a Wayland compositor may give the window the size back that it had before it was fitted.
    private static let compositorPatience = Duration.seconds(2)
    /// That size, and until when it counts.
    private var former: (size: PixelSize, until: MediaTime)?

    init(_ window: WindowHandle, _ x11: X11Connection?) {
        self.window = window
        self.x11 = x11
        fitted = window.size
    }

    /// The window's size before the first picture, in the display's units at scale 1.
    static func initialSize(_ video: SDLVideo) -> PixelSize { limited(initial, by: video.usableBounds(0).size) }

    private static let initial = PixelSize(width: 960, height: 540)
    private static let initialTile = PixelSize(width: 480, height: 270)

    /// Makes the window that nobody has seen yet as large as the display's scale and the number of sources ask for, in
    /// the middle of the work area.
    func setInitialSize(scale: Double, sources: Int) {
        let screen = window.video.usableBounds(window.displayIndex)
        let factor = scale / window.pixelRatio
        let initial =
            sources > 1 ? GridLayout.windowSize(for: sources, each: Self.initialTile, scale: 1) : Self.initial
        let wanted = PixelSize(
            width: Int((Double(initial.width) * factor).rounded()),
            height: Int((Double(initial.height) * factor).rounded()))
        let size = Self.limited(wanted, by: screen.size)
        // SDL centres a window on the whole display, panels and docks included.
        let (x, y) = window.position
        let isInside = screen.contains(PixelRect(x: x, y: y, width: size.width, height: size.height))
        guard size != fitted || !isInside else { return }
        fitted = size
        window.place(
            PixelRect(
                x: screen.x + (screen.width - size.width) / 2, y: screen.y + (screen.height - size.height) / 2,
                width: size.width, height: size.height))
    }

    /// Covers the whole display, or restores the window's rectangle.
    func setFullscreen(_ wanted: Bool) {
        guard wanted != isFullscreen else { return }
        isFullscreen = wanted
        if wanted, let x11, !x11.hasWindowManager {
            // SDL only asks the window manager. Without one (a kiosk) nobody else places windows, so place it directly.
            let (x, y) = window.position
            windowed = PixelRect(x: x, y: y, width: window.size.width, height: window.size.height)
            window.place(window.video.fullBounds(window.displayIndex))
        } else if let rect = windowed {
            windowed = nil
            window.place(rect)
        } else {
            SDL_SetWindowFullscreen(window.raw, wanted ? SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue : 0)
            // SDL has been told this rectangle before, but window managers restore the size that they remember.
            if !wanted, let next { window.place(next) }
            next = nil
        }
    }

    /// Fits the window to the picture's size, at most 90 % of the screen, unless a person has resized it. In fullscreen
    /// this sets the size to return to.
    ///
    /// One pixel of the picture becomes one of the display, or a square of them, as far as `scale` asks for that and the
    /// screen has room: so the picture stays sharp. A reduced version of the same picture, sent during congestion,
    /// doesn't shrink the window.
    func fit(to picture: PixelSize, scale: Double) {
        guard !isReduced(picture) else { return }
        fittedPicture = picture
        guard isFullscreen || (window.size == fitted && !window.has(SDL_WINDOW_MAXIMIZED)) else { return }
        let screen = window.video.usableBounds(window.displayIndex)
        let ratio = window.pixelRatio
        // Rounded up: with a pixel too little, all of the picture would be blurred.
        func wanted(_ times: Int) -> PixelSize {
            PixelSize(
                width: Int((Double(picture.width * times) / ratio).rounded(.up)),
                height: Int((Double(picture.height * times) / ratio).rounded(.up)))
        }
        let times = (1...Int(DisplayScale.clamped(scale))).last { times in
            Self.limited(wanted(times), by: screen.size) == wanted(times)
        }
        let size = Self.limited(wanted(times ?? 1), by: screen.size)
        // Keep the centre as far as the screen allows. Where the window manager will put the window after fullscreen is
        // unknown, so use the middle of the screen then.
        let (x, y) = window.position
        let old = isFullscreen ? windowed ?? screen : PixelRect(x: x, y: y, width: fitted.width, height: fitted.height)
        let rect = PixelRect(
            x: min(max(screen.x, old.x + (old.width - size.width) / 2), max(screen.x, screen.maxX - size.width)),
            y: min(max(screen.y, old.y + (old.height - size.height) / 2), max(screen.y, screen.maxY - size.height)),
            width: size.width, height: size.height)
        if x11 == nil { former = (window.size, .now + Self.compositorPatience) }
        fitted = size
        if windowed != nil {
            windowed = rect
        } else {
            window.place(rect)
            next = isFullscreen ? rect : nil
        }
    }

    /// Must be called when the window has another size.
    ///
    /// A Wayland compositor decides about a new window's size when it has seen its first content, which may be after the
    /// window was fitted to the first picture. That isn't a person's wish.
    func sizeChanged() {
        guard let former, !isFullscreen, window.size == former.size, window.size != fitted else { return }
        self.former = nil
        if MediaTime.now <= former.until { SDL_SetWindowSize(window.raw, Int32(fitted.width), Int32(fitted.height)) }
    }

    /// Whether `picture` has the fitted picture's aspect ratio, to two pixels, and half to all of its size.
    private func isReduced(_ picture: PixelSize) -> Bool {
        let full = fittedPicture
        guard full.width > 0, picture.width <= full.width, picture.width * 2 >= full.width - 4 else { return false }
        return abs(picture.height * full.width - picture.width * full.height) <= 2 * max(full.width, full.height)
    }

    private static func limited(_ size: PixelSize, by screen: PixelSize) -> PixelSize {
        let scale = min(
            1, Double(screen.width) * 0.9 / Double(size.width), Double(screen.height) * 0.9 / Double(size.height))
        return PixelSize(
            width: max(WindowHandle.minimumSize.width, Int(Double(size.width) * scale)),
            height: max(WindowHandle.minimumSize.height, Int(Double(size.height) * scale)))
    }
}
