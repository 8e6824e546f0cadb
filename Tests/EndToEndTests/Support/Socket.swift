import Glibc

/// An IPv4 address and a port.
struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    var address: String
    var port: UInt16

    init(_ port: UInt16, on address: String = "127.0.0.1") {
        self.address = address
        self.port = port
    }

    var description: String { "\(address):\(port)" }

    init(_ raw: sockaddr_in) {
        var raw = raw
        var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
        inet_ntop(AF_INET, &raw.sin_addr, &text, socklen_t(INET_ADDRSTRLEN))
        address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        port = UInt16(bigEndian: raw.sin_port)
    }

    var raw: sockaddr_in {
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &raw.sin_addr)
        return raw
    }

    func withRaw<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: raw) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// An IPv4 socket that is closed with its owner.
final class Socket: Sendable {
    enum Kind { case stream, datagram }

    let descriptor: Int32

    /// Takes over the descriptor.
    init(taking descriptor: Int32) { self.descriptor = descriptor }

    init(_ kind: Kind) throws {
        let type = kind == .stream ? SOCK_STREAM : SOCK_DGRAM
        descriptor = Glibc.socket(AF_INET, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw HarnessError.system("making a socket") }
        if kind == .stream { set(Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
    }

    deinit { close(descriptor) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes room for a keyframe's burst while the reader has no processor; beyond the system's limit if allowed.
    func enlargeReceiveBuffer() {
        set(SOL_SOCKET, SO_RCVBUF, 4 << 20)
        set(SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
    }

    func bind(_ endpoint: Endpoint, reuse: Bool = false) throws {
        if reuse { set(SOL_SOCKET, SO_REUSEADDR, 1) }
        guard endpoint.withRaw({ Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw HarnessError.system("binding \(endpoint)")
        }
    }

    var localEndpoint: Endpoint {
        var raw = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &raw) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length)
            }
        }
        return Endpoint(raw)
    }

    /// Whether something can be read within `timeout` seconds, including an end of stream or an error.
    func isReadable(timeout: Double) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, Int32(timeout * 1000)) > 0
    }

    /// Ends reads in other threads.
    func shut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Makes the next close send a reset.
    func resetOnClose() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }
}

// MARK: - Streams

extension Socket {
    static func connect(to endpoint: Endpoint, from address: String? = nil) throws -> Socket {
        let socket = try Socket(.stream)
        if let address { try socket.bind(Endpoint(0, on: address)) }
        guard endpoint.withRaw({ Glibc.connect(socket.descriptor, $0, $1) }) == 0 else {
            throw HarnessError.system("connecting to \(endpoint)")
        }
        return socket
    }

    /// Listens on 127.0.0.1; port 0 takes any free port.
    static func listen(_ port: UInt16 = 0) throws -> Socket { try listen(at: Endpoint(port)) }

    static func listen(at endpoint: Endpoint) throws -> Socket {
        let socket = try Socket(.stream)
        try socket.bind(endpoint, reuse: true)
        guard Glibc.listen(socket.descriptor, 16) == 0 else { throw HarnessError.system("listening at \(endpoint)") }
        return socket
    }

    /// Nil if no connection comes within `timeout` seconds.
    func accept(timeout: Double) -> Socket? {
        guard isReadable(timeout: timeout) else { return nil }
        let accepted = ChildProcess.whileNoneStarts {
            let accepted = Glibc.accept(descriptor, nil, nil)
            if accepted >= 0 { _ = fcntl(accepted, F_SETFD, FD_CLOEXEC) }
            return accepted
        }
        guard accepted >= 0 else { return nil }
        let socket = Socket(taking: accepted)
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// False if the peer is gone.
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(descriptor, buffer.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    enum Received: Equatable {
        case bytes([UInt8])
        case nothing
        case ended
    }

    func receive(timeout: Double) -> Received {
        guard isReadable(timeout: timeout) else { return .nothing }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? .bytes(Array(buffer[..<count])) : .ended
    }
}

// MARK: - Datagrams

extension Socket {
    static func datagrams(on endpoint: Endpoint = Endpoint(0)) throws -> Socket {
        let socket = try Socket(.datagram)
        socket.enlargeReceiveBuffer()
        try socket.bind(endpoint)
        return socket
    }

    @discardableResult
    func send(_ bytes: [UInt8], to endpoint: Endpoint) -> Bool {
        let count = endpoint.withRaw { address, length in
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
        }
        return count == bytes.count
    }

    /// Nil if none comes within `timeout` seconds.
    func receiveDatagram(timeout: Double) -> (bytes: [UInt8], from: Endpoint)? {
        guard isReadable(timeout: timeout) else { return nil }
        return receiveWaitingDatagram()
    }

    /// Nil if none is waiting.
    func receiveWaitingDatagram() -> (bytes: [UInt8], from: Endpoint)? {
        var raw = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bytes = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, used in
            let count = withUnsafeMutablePointer(to: &raw) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(
                        descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT), $0, &length)
                }
            }
            used = max(0, count)
        }
        return bytes.isEmpty ? nil : (bytes, Endpoint(raw))
    }
}

/// Ports that were free a moment ago, below the system's range for outgoing connections, so that none of these takes
/// one meanwhile.
enum FreePort {
    private static let range: Range<UInt16> = 20_000..<32_000
    private static let next = Monitor(UInt16.random(in: range))

    static func stream() throws -> UInt16 { try find(.stream) }

    static func datagram() throws -> UInt16 { try find(.datagram) }

    private static func find(_ kind: Socket.Kind) throws -> UInt16 {
        for _ in range {
            let port = next.withLock { next in
                defer { next = next + 1 < range.upperBound ? next + 1 : range.lowerBound }
                return next
            }
            let socket = try Socket(kind)
            if (try? socket.bind(Endpoint(port, on: "0.0.0.0"))) != nil { return port }
        }
        throw HarnessError("no port from \(range.lowerBound) to \(range.upperBound) is free")
    }
}
