import BeamMedia
import CErrorStream
import CXCB
import Glibc
import Synchronization

/// Why a request to the X server has no reply.
enum XFailure: Error, Equatable {
    case connectionLost
    /// The server answered with an error.
    case refused(code: UInt8)
    /// The capture was stopped during the wait.
    case interrupted

    /// Text for use in brackets: "BadMatch".
    var reason: String {
        switch self {
        case .connectionLost: "the connection is lost"
        case .interrupted: "interrupted"
        case .refused(let code):
            switch Int32(code) {
            case XCB_WINDOW: "BadWindow"
            case XCB_MATCH: "BadMatch"
            case XCB_DRAWABLE: "BadDrawable"
            case XCB_ACCESS: "BadAccess"
            case XCB_ALLOC: "BadAlloc"
            default: "X error \(code)"
            }
        }
    }
}

/// Owns a reply from the X server, and frees it.
struct XReply<Body>: ~Copyable {
    let pointer: UnsafeMutablePointer<Body>

    var body: Body { pointer.pointee }

    deinit { free(pointer) }
}

/// Owns a connection to an X server.
final class XConnection: @unchecked Sendable {
    // Sendable: `found` has a lock, the other fields are immutable, and libxcb locks each connection itself.

    let raw: OpaquePointer
    /// The display's name as given by the person or the environment.
    let name: String
    let screen: xcb_screen_t
    let screenNumber: Int
    let extensions: XExtensions
    let control: CaptureControl
    /// An event that `wait` took from libxcb, which `nextEvent` returns first.
    private let found = Mutex<XEvent?>(nil)

    var root: xcb_window_t { screen.root }
    var descriptor: CInt { xcb_get_file_descriptor(raw) }
    var isBroken: Bool { xcb_connection_has_error(raw) != 0 }

    /// Opens `display`, or the environment's if it is nil.
    init(display: String?, control: CaptureControl) throws(CaptureError) {
        let environment = getenv("DISPLAY").map { String(cString: $0) }
        guard let name = display ?? environment, !name.isEmpty else {
            throw .noDisplay(name: nil, reason: "DISPLAY isn't set")
        }
        var screenNumber: CInt = 0
        // libxcb writes the server's reason for a refusal to standard error, as it came.
        beam_error_stream_pause()
        let connection = xcb_connect(name, &screenNumber)
        beam_error_stream_resume()
        guard let raw = connection else { throw .noDisplay(name: name, reason: "there is not enough memory") }
        let error = xcb_connection_has_error(raw)
        guard error == 0 else {
            xcb_disconnect(raw)
            throw .noDisplay(name: name, reason: Self.reason(error))
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        for _ in 0..<screenNumber { xcb_screen_next(&screens) }
        guard let screen = screens.data else {
            xcb_disconnect(raw)
            throw .noDisplay(name: name, reason: "it has no screen \(screenNumber)")
        }
        self.raw = raw
        self.name = name
        self.screen = screen.pointee
        self.screenNumber = Int(screenNumber)
        self.control = control
        extensions = XExtensions(raw)
    }

    deinit { xcb_disconnect(raw) }

    private static func reason(_ error: CInt) -> String {
        switch error {
        case XCB_CONN_CLOSED_PARSE_ERR: "that isn't a valid display name (for example :0)"
        case XCB_CONN_CLOSED_INVALID_SCREEN: "it has no such screen"
        case XCB_CONN_CLOSED_MEM_INSUFFICIENT: "there is not enough memory"
        default: "no X server answers there, or it refuses this program"
        }
    }

    /// Whether the connection is a Unix domain socket, so that the server probably runs on this machine.
    var isLocal: Bool {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout.size(ofValue: address))
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return result == 0 && address.ss_family == sa_family_t(AF_UNIX)
    }

    /// A new id for a resource of this connection.
    func makeID() -> UInt32 { xcb_generate_id(raw) }

    func flush() { xcb_flush(raw) }

    /// Sends what is written, and waits until an event is there, `control` has news, or the deadline; nil: no deadline.
    func wait(until deadline: MediaTime?) {
        flush()
        // Events that came with a reply, or during the flush, have left the socket, which would not wake for them.
        let hasEvent = found.withLock { found in
            if found == nil { found = polledEvent(isRead: true) }
            return found != nil
        }
        if !hasEvent { control.wait(server: descriptor, until: deadline) }
    }

    /// The next event that has already arrived; nil if there is none. Doesn't wait.
    ///
    /// - Parameter isRead: only events that came before the replies taken so far; needs no system call.
    func nextEvent(isRead: Bool = false) -> XEvent? {
        found.withLock { $0.take() } ?? polledEvent(isRead: isRead)
    }

    /// Waits for the reply to the request with this sequence number. `stop()` ends the wait.
    func reply<Body>(_ sequence: UInt32, as type: Body.Type) throws(XFailure) -> XReply<Body> {
        flush()
        while true {
            var reply: UnsafeMutableRawPointer?
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            if xcb_poll_for_reply(raw, sequence, &reply, &error) != 0 {
                if let error {
                    defer { free(error) }
                    throw .refused(code: error.pointee.error_code)
                }
                guard let reply else { throw .connectionLost }
                return XReply(pointer: reply.assumingMemoryBound(to: type))
            }
            if control.isStopped {
                xcb_discard_reply(raw, sequence)
                throw .interrupted
            }
            control.wait(server: descriptor, until: nil)
        }
    }

    /// Waits until a request that has no reply is done.
    func check(_ cookie: xcb_void_cookie_t) throws(XFailure) {
        // Waits for a round trip here, where `stop()` can end the wait. Afterwards libxcb already has the request's
        // result.
        _ = try reply(xcb_get_input_focus(raw).sequence, as: xcb_get_input_focus_reply_t.self)
        guard let error = xcb_request_check(raw, cookie) else { return }
        defer { free(error) }
        throw .refused(code: error.pointee.error_code)
    }

    func geometry(of drawable: xcb_drawable_t) throws(XFailure) -> xcb_get_geometry_reply_t {
        try reply(xcb_get_geometry(raw, drawable).sequence, as: xcb_get_geometry_reply_t.self).body
    }

    func screenSize() throws(XFailure) -> PixelSize {
        let geometry = try geometry(of: root)
        return PixelSize(width: Int(geometry.width), height: Int(geometry.height))
    }

    /// Runs requests that must succeed. Any failure becomes a `CaptureError`.
    func orEnd<Value: ~Copyable>(_ body: () throws(XFailure) -> Value) throws(CaptureError) -> Value {
        do throws(XFailure) {
            return try body()
        } catch {
            throw captureError(error)
        }
    }

    /// The person-facing error for a request that failed for good.
    func captureError(_ failure: XFailure) -> CaptureError {
        switch failure {
        case .connectionLost, .interrupted: .serverGone(display: name)
        case .refused: isBroken ? .serverGone(display: name) : .grabFailed(display: name, reason: failure.reason)
        }
    }
}
