import Glibc

/// Why programs of this user can't reach each other.
public struct ControlError: Error, CustomStringConvertible {
    /// Without a full stop.
    var reason: String

    public var description: String { reason }
}

/// Calls about Unix sockets (unix(7)).
enum ControlAddress {
    private static let (attempts, pause) = (20, UInt32(50_000))

    enum Connection {
        case open(CInt)
        /// Nobody listens: the program has crashed.
        case refused
        case failed(CInt)
    }

    /// A stream socket that doesn't block, and that commands don't inherit; -1 on errors.
    static func socket() -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return Glibc.socket(AF_UNIX, type, 0)
    }

    /// Calls `body` with the address of a path of at most 107 bytes.
    static func use(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < capacity else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Waits for a second at most.
    static func connect(_ path: String) -> Connection {
        let socket = socket()
        guard socket >= 0 else { return .failed(errno) }
        var code: CInt = 0
        for attempt in 0..<attempts {
            if attempt > 0 { usleep(pause) }
            guard use(path, { Glibc.connect(socket, $0, $1) }) != 0 else { return .open(socket) }
            code = errno
            // As many wait already as the listener allows.
            guard code == EAGAIN else { break }
        }
        close(socket)
        return code == ECONNREFUSED ? .refused : .failed(code)
    }

    /// A connection that waits at a listening socket; -1 if there is none.
    static func accept(_ listener: CInt) -> CInt {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return -1 }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }

    /// What a descriptor that doesn't block has done.
    enum Progress {
        case bytes(Int)
        /// Nothing at present.
        case none
        /// The other side has gone.
        case ended
    }

    static func progress(_ result: Int) -> Progress {
        if result > 0 { return .bytes(result) }
        return result < 0 && (errno == EAGAIN || errno == EINTR) ? .none : .ended
    }
}
