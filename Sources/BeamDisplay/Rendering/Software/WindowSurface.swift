import BeamMedia
import CSDL2

/// Memory of a window's pixels that stays from one drawing to the next.
@MainActor protocol WindowSurface: AnyObject {
    /// Lends the pixels, in the window's present size; nil if there are none. `isNew` says that nothing of what was drawn
    /// is left.
    func canvas() -> (canvas: PixelCanvas, isNew: Bool)?

    /// Lets `rect` go to the screen while more is drawn elsewhere. Not to be drawn into before `finish`.
    func put(_ rect: PixelRect)

    /// Returns when all that was put has been taken from the memory; nothing waits for the screen's beat.
    func finish()
}

/// The window's surface as SDL has it, for every display that isn't an X server's in our own pixel format.
@MainActor final class SDLSurface: WindowSurface {
    private let window: WindowHandle
    /// The surface that was lent last.
    private var known: UnsafeMutablePointer<SDL_Surface>?
    private var knownPixels: UnsafeMutableRawPointer?
    /// Where the screen has another pixel format than bgrx: drawn into, then converted by SDL.
    private var staging: UnsafeMutablePointer<SDL_Surface>?
    /// SDL waits for the display each time it is given something.
    private var waiting: [SDL_Rect] = []

    init(_ window: WindowHandle) { self.window = window }

    isolated deinit {
        if let staging { SDL_FreeSurface(staging) }
    }

    func canvas() -> (canvas: PixelCanvas, isNew: Bool)? {
        guard let surface = SDL_GetWindowSurface(window.raw) else { return nil }
        let isNew = surface != known || surface.pointee.pixels != knownPixels
        if isNew {
            known = surface
            knownPixels = surface.pointee.pixels
            prepare(surface)
        }
        let target = staging ?? surface
        guard let pixels = target.pointee.pixels else { return nil }
        let size = PixelSize(width: Int(target.pointee.w), height: Int(target.pointee.h))
        return (PixelCanvas(base: pixels, stride: Int(target.pointee.pitch), size: size), isNew)
    }

    func put(_ rect: PixelRect) {
        waiting.append(SDL_Rect(x: Int32(rect.x), y: Int32(rect.y), w: Int32(rect.width), h: Int32(rect.height)))
    }

    func finish() {
        guard !waiting.isEmpty else { return }
        if let staging, let surface = known {
            for rect in waiting {
                var (from, to) = (rect, rect)
                SDL_UpperBlit(staging, &from, surface, &to)
            }
        }
        SDL_UpdateWindowSurfaceRects(window.raw, waiting, Int32(waiting.count))
        waiting.removeAll(keepingCapacity: true)
    }

    private func prepare(_ surface: UnsafeMutablePointer<SDL_Surface>) {
        if let staging { SDL_FreeSurface(staging) }
        staging = nil
        let format = surface.pointee.format.pointee.format
        if format != SDL_PIXELFORMAT_RGB888.rawValue, format != SDL_PIXELFORMAT_ARGB8888.rawValue {
            staging = SDL_CreateRGBSurfaceWithFormat(
                0, surface.pointee.w, surface.pointee.h, 32, SDL_PIXELFORMAT_RGB888.rawValue)
        }
        if let pixels = surface.pointee.pixels { SharedMemory.restrict(pixels) }
    }
}
