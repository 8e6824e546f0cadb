import BeamMedia
import CBeamWayland
import CSDL2

/// The window's pixels in memory shared with a Wayland compositor.
///
/// SDL 2 has nothing like that: its surface goes to the screen through OpenGL, which without a GPU is emulated.
@MainActor final class WaylandSurface: WindowSurface {
    private let window: WindowHandle
    private let raw: OpaquePointer
    private var pixels: PixelBuffer?
    private var waiting: [beam_wayland_rect] = []

    /// Nil unless the window is on a Wayland compositor that shares memory.
    init?(_ window: WindowHandle) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_WAYLAND,
            let display = info.info.wl.display, let surface = info.info.wl.surface,
            let raw = beam_wayland_window_create(UnsafeMutableRawPointer(display), UnsafeMutableRawPointer(surface))
        else { return nil }
        self.window = window
        self.raw = raw
    }

    isolated deinit { beam_wayland_window_destroy(raw) }

    /// Whether the window was on a Wayland compositor that has gone.
    static func isLost(_ window: WindowHandle) -> Bool {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_WAYLAND,
            let display = info.info.wl.display
        else { return false }
        return beam_wayland_is_lost(UnsafeMutableRawPointer(display))
    }

    func canvas() -> (canvas: PixelCanvas, isNew: Bool)? {
        let size = window.pixelSize
        guard size.area > 0 else { return nil }
        let isNew = pixels?.size != size
        if isNew {
            pixels = nil
            pixels = PixelBuffer(format: .bgrx, size: size)
        }
        guard let plane = pixels?.planes[0] else { return nil }
        return (PixelCanvas(base: plane.base, stride: plane.stride, size: size), isNew)
    }

    func put(_ rect: PixelRect) {
        guard let pixels else { return }
        let rect = rect.intersection(PixelRect(pixels.size))
        guard !rect.isEmpty else { return }
        waiting.append(
            beam_wayland_rect(
                x: Int32(rect.x), y: Int32(rect.y), width: Int32(rect.width), height: Int32(rect.height)))
    }

    func finish() -> Bool {
        guard let pixels, !waiting.isEmpty else { return true }
        defer { waiting.removeAll(keepingCapacity: true) }
        let plane = pixels.planes[0]
        // A connection that is lost shows in SDL's events, too.
        return beam_wayland_window_show(
            raw, plane.base.assumingMemoryBound(to: UInt8.self), plane.stride, Int32(pixels.size.width),
            Int32(pixels.size.height), waiting, waiting.count)
    }
}
