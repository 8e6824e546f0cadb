import BeamMedia
import CSDL2
import Glibc

/// SDL's surface of a window: memory that the X server reads (MIT-SHM), so that showing it is one copy.
@MainActor final class WindowSurface {
    private let window: WindowHandle
    /// The surface that was lent last.
    private var known: UnsafeMutablePointer<SDL_Surface>?
    private var knownPixels: UnsafeMutableRawPointer?
    /// Where the screen has another pixel format than bgrx: drawn into, then converted by SDL.
    private var staging: UnsafeMutablePointer<SDL_Surface>?

    init(_ window: WindowHandle) { self.window = window }

    isolated deinit {
        if let staging { SDL_FreeSurface(staging) }
    }

    /// Lends the surface's pixels; nil if there is no surface. `isNew` says that nothing of what was drawn is left.
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

    /// Puts `rects` on the screen. Returns when the X server has read them; nothing waits for the screen's beat.
    func present(_ rects: [PixelRect]) {
        let all = rects.map { SDL_Rect(x: Int32($0.x), y: Int32($0.y), w: Int32($0.width), h: Int32($0.height)) }
        if let staging, let surface = known {
            for rect in all {
                var (from, to) = (rect, rect)
                SDL_UpperBlit(staging, &from, surface, &to)
            }
        }
        SDL_UpdateWindowSurfaceRects(window.raw, all, Int32(all.count))
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

/// System V shared memory in this process.
enum SharedMemory {
    /// Lets only this user attach the segment that starts at `address`. SDL makes the window's segment with mode 0777,
    /// and anyone on the machine could read the shared screen from it. Nothing happens where there is no segment.
    static func restrict(_ address: UnsafeRawPointer) {
        guard let id = identifier(at: address) else { return }
        var segment = shmid_ds()
        guard shmctl(id, IPC_STAT, &segment) == 0 else { return }
        segment.shm_perm.mode = 0o600
        shmctl(id, IPC_SET, &segment)
    }

    /// The identifier of the segment that starts at `address`.
    static func identifier(at address: UnsafeRawPointer) -> Int32? {
        segments().first { $0.start == UInt(bitPattern: address) }?.identifier
    }

    /// The segments attached to this process. The kernel shows a segment's identifier as its mapping's inode.
    static func segments() -> [(start: UInt, identifier: Int32)] {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var found: [(start: UInt, identifier: Int32)] = []
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            let text = String(cString: line)
            guard text.contains("/SYSV") else { continue }
            let fields = text.split(separator: " ", omittingEmptySubsequences: true)
            if fields.count > 4, let start = UInt(text.prefix { $0 != "-" }, radix: 16),
                let identifier = Int32(fields[4])
            {
                found.append((start, identifier))
            }
        }
        return found
    }
}
