import Glibc

/// A TCP connection to an address of loopback, for requests that no HTTP client would send.
final class Client {
    private let descriptor: CInt

    /// - Parameter host: in the order of the machine.
    init(_ port: UInt16, at host: UInt32 = 0x7F00_0001) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        // Only what hangs takes so long.
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }

    struct Failure: Error { var code: CInt }

    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// So many bytes; fewer if it ends before.
    func read(_ count: Int) -> String {
        var buffer = [UInt8](repeating: 0, count: count)
        let read = recv(descriptor, &buffer, count, CInt(MSG_WAITALL))
        return String(decoding: buffer.prefix(max(0, read)), as: UTF8.self)
    }

    /// Everything until the connection's end; `error`: 0 for an orderly one.
    func readToEnd() -> (text: String, error: CInt) {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return (String(decoding: all, as: UTF8.self), count < 0 ? errno : 0) }
            all += buffer.prefix(count)
        }
    }

    /// Sends a request and reads its answer.
    static func answer(_ port: UInt16, _ request: String) throws -> String {
        let client = try Client(port)
        client.send(request)
        return client.readToEnd().text
    }
}
