import CXCB
import Glibc

/// Memory for pixels, freed with its last holder.
protocol PixelMemory: AnyObject, Sendable {
    var base: UnsafeMutableRawPointer { get }
    var byteCount: Int { get }
}

/// Memory of this process alone.
final class HeapMemory: PixelMemory, @unchecked Sendable {
    // Sendable: immutable but for the pixels, which the capture thread writes before it hands a picture on.

    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Zeroed: black. Page aligned, with a margin in which vector code may read.
    init(byteCount: Int) {
        self.byteCount = byteCount
        base = .allocate(byteCount: byteCount + 64, alignment: 4096)
        memset(base, 0, byteCount + 64)
    }

    deinit { base.deallocate() }
}

/// Memory shared with the X server (System V), into which it writes images.
final class SharedSegment: PixelMemory, @unchecked Sendable {
    // Sendable: immutable but for the pixels, which the capture thread has the server write before it hands a picture on.

    /// Why there is none.
    enum Failure: Error {
        /// This machine has no more shared memory to give; errno.
        case noMemory(errno: CInt)
        /// The server doesn't take it.
        case notAttached(XFailure)
    }

    let base: UnsafeMutableRawPointer
    let byteCount: Int
    /// The segment's name in requests to the server.
    let id: xcb_shm_seg_t
    private let connection: XConnection

    /// Zeroed: black. Nobody but the owner may attach it (mode 0600), and once this function returns nobody can at all: the
    /// system has forgotten its key and frees it when the last side lets go, however that ends.
    init(_ connection: XConnection, byteCount: Int) throws(Failure) {
        let key = shmget(IPC_PRIVATE, byteCount + 64, IPC_CREAT | 0o600)
        guard key >= 0 else { throw .noMemory(errno: errno) }
        defer { shmctl(key, IPC_RMID, nil) }
        // shmat answers -1, not null, when it fails.
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
    /// Whether the server really writes into this program's memory. A segment's number means nothing on another machine or in
    /// another container, and a server may well attach a stranger's segment of the same number without complaint.
    ///
    /// Nil when it does, else the reason in words.
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

    /// Asks for one pixel the plain way and, into memory that holds its opposite, the shared way.
    private static func reads(_ connection: XConnection, into segment: SharedSegment) throws(Failure) -> Bool {
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        do throws(XFailure) {
            // A pixmap of its own holds still, unlike the screen.
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
