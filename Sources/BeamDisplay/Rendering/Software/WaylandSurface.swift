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
        guard let info = Self.waylandInfo(of: window), let display = info.display, let surface = info.surface,
            let raw = beam_wayland_window_create(UnsafeMutableRawPointer(display), UnsafeMutableRawPointer(surface))
        else { return nil }
        self.window = window
        self.raw = raw
    }

    isolated deinit { beam_wayland_window_destroy(raw) }

    /// Whether the window was on a Wayland compositor that has gone.
    static func isLost(_ window: WindowHandle) -> Bool { display(of: window).map(beam_wayland_is_lost) ?? false }

    /// The socket of the window's connection to its Wayland compositor. Nil: it is on another kind of display.
    static func connection(of window: WindowHandle) -> CInt? {
        display(of: window).map(beam_wayland_window_descriptor).flatMap { $0 < 0 ? nil : $0 }
    }

    private static func display(of window: WindowHandle) -> UnsafeMutableRawPointer? {
        waylandInfo(of: window)?.display.map { UnsafeMutableRawPointer($0) }
    }

    /// Nil unless the window is on a Wayland compositor.
    private static func waylandInfo(
        of window: WindowHandle
    ) -> (display: OpaquePointer?, surface: OpaquePointer?)? {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_WAYLAND else {
            return nil
        }
        return (info.info.wl.display, info.info.wl.surface)
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
