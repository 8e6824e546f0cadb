import CXCB
import Glibc

/// System V memory shared with the X server, which writes images into it.
final class SharedSegment: PixelMemory, @unchecked Sendable {
    // Sendable: immutable except for the pixels, which the capture thread has the server write before it delivers a
    // picture.

    enum Failure: Error {
        /// The system has no shared memory left; errno.
        case noMemory(errno: CInt)
        /// The server refuses to attach it.
        case notAttached(XFailure)
    }

    let base: UnsafeMutableRawPointer
    let byteCount: Int
    /// The segment's id in requests to the server.
    let id: xcb_shm_seg_t
    private let connection: XConnection

    /// Zeroed (black). Only this user (and root) may attach it (mode 0600). It is marked for removal before this
    /// returns, so that the kernel frees it when both sides have detached, even after a crash.
    init(_ connection: XConnection, byteCount: Int) throws(Failure) {
        let key = shmget(IPC_PRIVATE, byteCount + 64, IPC_CREAT | 0o600)
        guard key >= 0 else { throw .noMemory(errno: errno) }
        defer { shmctl(key, IPC_RMID, nil) }
        // shmat returns -1 on failure, not null.
        guard let base = shmat(key, nil, 0), base != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw .noMemory(errno: errno)
        }
        let id = connection.makeID()
        do {
            try connection.check(xcb_shm_attach_checked(connection.raw, id, UInt32(key), 0))
        } catch {
            shmdt(base)
            throw .notAttached(error)
        }
        self.base = base
        self.byteCount = byteCount
        self.id = id
        self.connection = connection
    }

    deinit {
        xcb_shm_detach(connection.raw, id)
        shmdt(base)
    }
}

extension SharedSegment {
    /// Why the server can't write into this program's memory; nil if it can.
    ///
    /// This is tested with a pixel, because a segment's id has no meaning on another machine or in another container,
    /// where a server may attach an unrelated segment of the same id without an error.
    static func obstacle(_ connection: XConnection) throws(CaptureError) -> String? {
        guard connection.extensions.shm != nil else { return "it has no MIT-SHM extension" }
        guard connection.isLocal else { return "it is reached over the network" }
        do throws(Failure) {
            let segment = try SharedSegment(connection, byteCount: 4)
            return try reads(connection, into: segment) ? nil : "it runs where this program's memory can't be shared"
        } catch {
            switch error {
            case .noMemory(let number): return "no shared memory: \(String(cString: strerror(number)))"
            case .notAttached(.refused): return "it doesn't take this program's memory"
            case .notAttached(let failure): throw connection.captureError(failure)
            }
        }
    }

    /// Whether a pixel (0) of a test pixmap arrives in the segment, which is filled with 0xff before.
    private static func reads(_ connection: XConnection, into segment: SharedSegment) throws(Failure) -> Bool {
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        do throws(XFailure) {
            // A test pixmap doesn't change, unlike the screen.
            let pixmap = connection.makeID()
            let context = connection.makeID()
            xcb_create_pixmap(connection.raw, connection.screen.root_depth, pixmap, connection.root, 1, 1)
            xcb_create_gc(connection.raw, context, pixmap, XCB_GC_FOREGROUND.rawValue, [0])
            xcb_poly_fill_rectangle(
                connection.raw, pixmap, context, 1, [xcb_rectangle_t(x: 0, y: 0, width: 1, height: 1)])
            defer {
                xcb_free_gc(connection.raw, context)
                xcb_free_pixmap(connection.raw, pixmap)
            }
            memset(segment.base, 0xff, 4)
            let cookie = xcb_shm_get_image(connection.raw, pixmap, 0, 0, 1, 1, ~0, format, segment.id, 0)
            _ = try connection.reply(cookie.sequence, as: xcb_shm_get_image_reply_t.self)
            return segment.base.load(as: UInt8.self) == 0
        } catch {
            throw .notAttached(error)
        }
    }
}
