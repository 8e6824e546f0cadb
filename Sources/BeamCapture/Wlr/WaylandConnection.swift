import BeamMedia
import CBeamWayland
import CLateLibraries
import Glibc

/// What a compositor says.
enum WaylandEvent {
    case outputChanged(WaylandOutput)
    case outputGone(id: UInt32)
    case frameOffered(FrameOffer)
    case frameDamaged(PixelRect)
    /// `turn`: of the picture in the buffer; nil: that of the output.
    case frameReady(isUpsideDown: Bool, turn: OutputTurn?, time: MediaTime)
    case frameFailed
}

/// The memory that a compositor's frame needs.
struct FrameOffer: Equatable {
    var size: PixelSize
    /// In bytes.
    var stride: Int
    /// wl_shm.format.
    var format: UInt32
}

/// Owns a connection to a Wayland compositor. For one thread at a time.
final class WaylandConnection {
    /// How long the compositor may take to answer at the start.
    private static let patience = Duration.seconds(5)
    /// X11's limit, as elsewhere.
    private static let largestSide = 32767

    /// In WAYLAND_DISPLAY's syntax.
    let name: String
    private let raw: OpaquePointer

    /// Connects to the compositor `name` (nil: the environment's) and learns what it has.
    init(_ name: String?) throws(CaptureError) {
        let wanted = name ?? getenv("WAYLAND_DISPLAY").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        if let reason = beam_load_libwayland() {
            throw .noCompositor(name: wanted, reason: "libwayland-client can't be loaded: \(String(cString: reason))")
        }
        var number: CInt = 0
        // Without a name the library takes wayland-0.
        guard let raw = beam_wayland_open(wanted, &number) else {
            throw .noCompositor(name: wanted, reason: Self.reason(number))
        }
        self.raw = raw
        self.name = wanted ?? "wayland-0"
        // The first answer lists what there is; the second one tells of it.
        for _ in 0..<2 {
            let number = beam_wayland_settle(raw, CInt(Self.patience.inMilliseconds64))
            if number != 0 { throw .noCompositor(name: self.name, reason: Self.reason(number)) }
        }
        guard beam_wayland_can_capture(raw), beam_wayland_has_memory(raw) else {
            throw .noScreencopy(display: self.name)
        }
    }

    deinit { beam_wayland_close(raw) }

    private static func reason(_ number: CInt) -> String {
        switch number {
        case ENOENT, ECONNREFUSED: "no compositor answers there"
        case ETIMEDOUT: "its compositor doesn't answer"
        default: String(cString: strerror(number))
        }
    }

    var descriptor: CInt { beam_wayland_descriptor(raw) }

    /// Reads what has come, without waiting.
    func read() throws(CaptureError) {
        if beam_wayland_read(raw) != 0 { throw .compositorGone(display: name) }
    }

    func flush() throws(CaptureError) {
        let number = beam_wayland_flush(raw)
        // The rest goes with the next one: a compositor that hangs may go on.
        if number != 0, number != EAGAIN { throw .compositorGone(display: name) }
    }

    func nextEvent() -> WaylandEvent? {
        var event = beam_wayland_event()
        guard beam_wayland_next(raw, &event) else { return nil }
        let size = PixelSize(width: Int(event.width), height: Int(event.height))
        switch event.kind {
        case BEAM_OUTPUT_CHANGED: return .outputChanged(Self.output(&event, size))
        case BEAM_OUTPUT_GONE: return .outputGone(id: event.output)
        case BEAM_FRAME_OFFERED:
            return .frameOffered(FrameOffer(size: size, stride: Int(event.stride), format: event.format))
        case BEAM_FRAME_DAMAGED:
            return .frameDamaged(
                PixelRect(x: Int(event.x), y: Int(event.y), width: size.width, height: size.height))
        case BEAM_FRAME_READY:
            let isTold = event.transform != Int32(BEAM_NO_TRANSFORM)
            return .frameReady(
                isUpsideDown: event.is_upside_down, turn: isTold ? OutputTurn(transform: event.transform) : nil,
                time: MediaTime(nanoseconds: event.time))
        default: return .frameFailed
        }
    }

    private static func output(_ event: inout beam_wayland_event, _ size: PixelSize) -> WaylandOutput {
        let name = withUnsafeBytes(of: &event.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return WaylandOutput(
            id: event.output, name: name.isEmpty ? "output-\(event.output)" : name,
            size: size, turn: OutputTurn(transform: event.transform),
            refreshRate: event.refresh > 0 ? Double(event.refresh) / 1000 : nil)
    }

    /// Asks for a frame. False if the output is gone.
    func capture(_ output: WaylandOutput, drawsCursor: Bool) -> Bool {
        beam_wayland_capture(raw, output.id, drawsCursor)
    }

    /// Returns whether the copy waits until something has changed.
    func copy(into buffer: ScreenBuffer, mayWait: Bool) -> Bool {
        var memory = buffer.raw
        return beam_wayland_copy(raw, &memory, mayWait)
    }

    /// Gives up the frame that was asked for, and makes the next copy come at once.
    func cancel() { beam_wayland_cancel(raw) }

    func makeBuffer(_ offer: FrameOffer) throws(CaptureError) -> ScreenBuffer {
        guard offer.size.width > 0, offer.size.height > 0 else {
            throw .unsupportedDisplay(name: name, reason: "it offers pictures without pixels (\(offer.size))")
        }
        guard max(offer.size.width, offer.size.height) <= Self.largestSide else {
            throw .noMemory(offer.size, reason: "it is too large")
        }
        guard offer.format != BEAM_NO_FORMAT else {
            throw .unsupportedDisplay(
                name: name,
                reason: "it hands out its pictures in memory of the graphics device only (DMA-BUF), or in a layout "
                    + "that isn't known here")
        }
        guard let format = ScreenBuffer.Format(rawValue: offer.format) else {
            throw .unsupportedDisplay(
                name: name, reason: "its pixels have a format that isn't known here (\(offer.format))")
        }
        var memory = beam_wayland_buffer()
        var number: CInt = 0
        guard
            beam_wayland_buffer_create(
                raw, UInt32(offer.size.width), UInt32(offer.size.height), UInt32(offer.stride), offer.format, &memory,
                &number)
        else { throw .noMemory(offer.size, reason: String(cString: strerror(number))) }
        return ScreenBuffer(memory, offer, format, owner: self)
    }
}

/// Memory into which the compositor writes a frame.
final class ScreenBuffer {
    /// Those that wlroots offers of 32 bits, by the name of wl_shm.format: from the highest byte of a little-endian number.
    enum Format: UInt32 {
        case argb8888 = 0
        case xrgb8888 = 1
        /// DRM's codes AB24 and XB24.
        case abgr8888 = 0x3432_4241
        case xbgr8888 = 0x3432_4258

        /// Red and blue have each other's place of BGRX.
        var isSwapped: Bool { self == .abgr8888 || self == .xbgr8888 }
    }

    let offer: FrameOffer
    let format: Format
    fileprivate var raw: beam_wayland_buffer
    /// Has to outlive the buffer.
    private let owner: WaylandConnection

    fileprivate init(_ raw: beam_wayland_buffer, _ offer: FrameOffer, _ format: Format, owner: WaylandConnection) {
        self.raw = raw
        self.offer = offer
        self.format = format
        self.owner = owner
    }

    deinit { beam_wayland_buffer_destroy(&raw) }

    /// Its pixels, from the top row on.
    func plane(isUpsideDown: Bool) -> Plane {
        isUpsideDown
            ? Plane(base: raw.pixels + (offer.size.height - 1) * offer.stride, stride: -offer.stride)
            : Plane(base: raw.pixels, stride: offer.stride)
    }
}
