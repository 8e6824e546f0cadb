import BeamMedia
import CSDL2
import Glibc
import Synchronization

/// The window's pixels in memory that an X server on this machine reads itself (MIT-SHM).
///
/// SDL has the same, but waits for the server after each piece: here the server copies one part of a picture while the next
/// is converted.
@MainActor final class X11Surface: WindowSurface {
    private let window: WindowHandle
    private let display: OpaquePointer
    private let target: Window
    private let visual: UnsafeMutablePointer<Visual>
    private let depth: UInt32
    private let context: GC
    private var image: SharedImage?
    private var isUnderWay = false

    /// Nil unless the window is on an X server that shares memory with us and has bgrx pixels.
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

    isolated deinit {
        if !window.video.isLost { XFreeGC(display, context) }
    }

    func canvas() -> (canvas: PixelCanvas, isNew: Bool)? {
        let size = window.pixelSize
        guard size.area > 0 else { return nil }
        let isNew = image?.size != size
        if isNew {
            // First, so that there aren't two at a time.
            image = nil
            image = SharedImage(display, visual, depth: depth, size: size, video: window.video)
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

    func finish() {
        guard isUnderWay else { return }
        isUnderWay = false
        // The server answers in order: what was put has been copied.
        XSync(display, 0)
    }
}

/// The owner of a memory segment that only this user may read, attached to an X server, as an image of 4 bytes a pixel.
@MainActor private final class SharedImage {
    let raw: UnsafeMutablePointer<XImage>
    let size: PixelSize
    let canvas: PixelCanvas
    private let display: OpaquePointer
    private let video: SDLVideo
    /// Xlib keeps its address in the image.
    private let segment: UnsafeMutablePointer<XShmSegmentInfo>

    /// Nil where the server can't read our memory (it is on another machine, or another user's), or there is none left.
    init?(
        _ display: OpaquePointer, _ visual: UnsafeMutablePointer<Visual>, depth: UInt32, size: PixelSize,
        video: SDLVideo
    ) {
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
        self.video = video
        self.segment = segment
        canvas = PixelCanvas(base: memory, stride: Int(raw.pointee.bytes_per_line), size: size)
    }

    isolated deinit {
        if !video.isLost { XShmDetach(display, segment) }
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
        // It lives on as long as somebody has it attached.
        defer { shmctl(identifier, IPC_RMID, nil) }
        guard let memory = shmat(identifier, nil, 0), memory != UnsafeMutableRawPointer(bitPattern: -1) else {
            return nil
        }
        segment.pointee.shmid = identifier
        segment.pointee.shmaddr = memory.assumingMemoryBound(to: CChar.self)
        segment.pointee.readOnly = 1
        // A refusal comes as an error, which Xlib would end the process for.
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

/// Set by Xlib's error handler, which is told nothing else.
private let wasRefused = Atomic<Bool>(false)
