import Foundation

/// In systemd's place: receives what a service tells it.
final class ServiceListener: Sendable {
    let path: String
    private let socket: Int32

    init(_ path: String) throws {
        self.path = path
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard socket >= 0, path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw HarnessError("The path \(path) is too long for a socket.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound else { throw HarnessError.system("binding \(path)") }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// Reads until a message has this line; answers its lines.
    func wait(for line: String) throws -> [String] {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
            if lines.contains(line) { return lines }
        }
        throw HarnessError("“\(line)” didn't come.")
    }
}
