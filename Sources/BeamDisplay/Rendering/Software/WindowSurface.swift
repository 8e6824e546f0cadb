import BeamMedia
import CSDL2

/// A window's pixel memory, which keeps its content between draws.
@MainActor protocol WindowSurface: AnyObject {
    /// The pixels, in the window's current size; nil if there are none. `isNew`: the earlier content is gone.
    func canvas() -> (canvas: PixelCanvas, isNew: Bool)?

    /// Starts to show `rect` on the screen. The memory must not be drawn into until `finish`.
    func put(_ rect: PixelRect)

    /// Waits until everything that was put has been copied from the memory. Doesn't wait for the vertical blank. False: it
    /// isn't shown, because the display takes nothing at present.
    func finish() -> Bool
}

/// SDL's window surface, for displays other than X servers with bgrx pixels and Wayland compositors.
@MainActor final class SDLSurface: WindowSurface {
    private let window: WindowHandle
    /// The surface of the last `canvas` call.
    private var known: UnsafeMutablePointer<SDL_Surface>?
    private var knownPixels: UnsafeMutableRawPointer?
    /// Drawn into and converted by SDL, if the screen's pixel format isn't bgrx.
    private var staging: UnsafeMutablePointer<SDL_Surface>?
    /// Collected for one update, because SDL waits for the display on each.
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

    func finish() -> Bool {
        guard !waiting.isEmpty else { return true }
        if let staging, let surface = known {
            for rect in waiting {
                var (from, to) = (rect, rect)
                SDL_UpperBlit(staging, &from, surface, &to)
            }
        }
        SDL_UpdateWindowSurfaceRects(window.raw, waiting, Int32(waiting.count))
        waiting.removeAll(keepingCapacity: true)
        return true
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
