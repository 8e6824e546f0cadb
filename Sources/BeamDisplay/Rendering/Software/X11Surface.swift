import BeamMedia
import CSDL2
import Glibc
import Synchronization

/// The window's pixels in memory shared with a local X server (MIT-SHM).
///
/// SDL has this too, but waits for the server after each rectangle. Here the server copies one part while the next is
/// converted.
@MainActor final class X11Surface: WindowSurface {
    private let window: WindowHandle
    private let display: OpaquePointer
    private let target: Window
    private let visual: UnsafeMutablePointer<Visual>
    private let depth: UInt32
    private let context: GC
    private var image: SharedImage?
    private var isUnderWay = false

    /// Nil unless the window is on an X server that shares memory with this process and has bgrx pixels.
    init?(_ window: WindowHandle) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_X11,
            let display = info.info.x11.display, XShmQueryExtension(display) != 0
        else { return nil }
        let target = info.info.x11.window
        var attributes = XWindowAttributes()
        guard XGetWindowAttributes(display, target, &attributes) != 0, let visual = attributes.visual,
            [24, 32].contains(attributes.depth), XImageByteOrder(display) == LSBFirst,
            visual.pointee.red_mask == 0xff0000, visual.pointee.green_mask == 0xff00, visual.pointee.blue_mask == 0xff,
            let context = XCreateGC(display, target, 0, nil)
        else { return nil }
        self.window = window
        self.display = display
        self.target = target
        self.visual = visual
        depth = UInt32(attributes.depth)
        self.context = context
        guard canvas() != nil else { return nil }
    }

    isolated deinit { XFreeGC(display, context) }

    func canvas() -> (canvas: PixelCanvas, isNew: Bool)? {
        let size = window.pixelSize
        guard size.area > 0 else { return nil }
        let isNew = image?.size != size
        if isNew {
            // Free the old one first, so that there are never two at a time.
            image = nil
            image = SharedImage(display, visual, depth: depth, size: size)
        }
        return image.map { ($0.canvas, isNew) }
    }

    func put(_ rect: PixelRect) {
        guard let image else { return }
        let rect = rect.intersection(PixelRect(image.size))
        guard !rect.isEmpty else { return }
        XShmPutImage(
            display, target, context, image.raw, Int32(rect.x), Int32(rect.y), Int32(rect.x), Int32(rect.y),
            UInt32(rect.width), UInt32(rect.height), 0)
        isUnderWay = true
    }

    func finish() -> Bool {
        guard isUnderWay else { return true }
        isUnderWay = false
        // The server processes requests in order, so its answer means that the copies are done.
        XSync(display, 0)
        return true
    }
}

/// Owns a shared memory segment (mode 0600) attached to an X server, used as a 32-bit image.
@MainActor private final class SharedImage {
    let raw: UnsafeMutablePointer<XImage>
    let size: PixelSize
    let canvas: PixelCanvas
    private let display: OpaquePointer
    /// At a fixed address, because the image keeps a pointer to it.
    private let segment: UnsafeMutablePointer<XShmSegmentInfo>

    /// Nil if the server can't attach our memory (another machine or user), or there is no shared memory left.
    init?(_ display: OpaquePointer, _ visual: UnsafeMutablePointer<Visual>, depth: UInt32, size: PixelSize) {
        let segment = UnsafeMutablePointer<XShmSegmentInfo>.allocate(capacity: 1)
        segment.initialize(to: XShmSegmentInfo())
        guard
            let raw = XShmCreateImage(
                display, visual, depth, Int32(ZPixmap), nil, segment, UInt32(size.width), UInt32(size.height))
        else {
            segment.deallocate()
            return nil
        }
        guard raw.pointee.bits_per_pixel == 32,
            let memory = Self.attach(segment, bytes: Int(raw.pointee.bytes_per_line) * size.height, display)
        else {
            _ = raw.pointee.f.destroy_image(raw)
            segment.deallocate()
            return nil
        }
        raw.pointee.data = memory.assumingMemoryBound(to: CChar.self)
        self.raw = raw
        self.size = size
        self.display = display
        self.segment = segment
        canvas = PixelCanvas(base: memory, stride: Int(raw.pointee.bytes_per_line), size: size)
    }

    isolated deinit {
        XShmDetach(display, segment)
        shmdt(segment.pointee.shmaddr)
        raw.pointee.data = nil
        _ = raw.pointee.f.destroy_image(raw)
        segment.deallocate()
    }

    private static func attach(
        _ segment: UnsafeMutablePointer<XShmSegmentInfo>, bytes: Int, _ display: OpaquePointer
    ) -> UnsafeMutableRawPointer? {
        let identifier = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0o600)
        guard identifier >= 0 else { return nil }
        // The segment stays until the last process detaches.
        defer { shmctl(identifier, IPC_RMID, nil) }
        guard let memory = shmat(identifier, nil, 0), memory != UnsafeMutableRawPointer(bitPattern: -1) else {
            return nil
        }
        segment.pointee.shmid = identifier
        segment.pointee.shmaddr = memory.assumingMemoryBound(to: CChar.self)
        segment.pointee.readOnly = 1
        // A refusal arrives as an X error, which would end the process without a handler.
        XSync(display, 0)
        wasRefused.store(false, ordering: .relaxed)
        let former = XSetErrorHandler { _, _ in
            wasRefused.store(true, ordering: .relaxed)
            return 0
        }
        let isSent = XShmAttach(display, segment) != 0
        XSync(display, 0)
        XSetErrorHandler(former)
        guard isSent, !wasRefused.load(ordering: .relaxed) else {
            shmdt(memory)
            return nil
        }
        return memory
    }
}

/// Set by Xlib's error handler, which has no user data.
private let wasRefused = Atomic<Bool>(false)
