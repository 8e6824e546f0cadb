import Foundation

@testable import BeamWeb

/// A socket at an address of loopback, which stream sockets listen at. Closed by whoever uses it.
struct LoopbackSocket {
    enum Kind { case stream, datagram }

    let descriptor: Int32
    let port: UInt16

    /// - Parameter port: 0: any.
    init(_ kind: Kind, at address: UInt32, port: UInt16 = 0) throws {
        let type = kind == .stream ? SOCK_STREAM : SOCK_DGRAM
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = address.bigEndian
        name.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | (kind == .stream ? listen(descriptor, 5) : 0)
                    | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw CocoaError(.fileReadUnknown)
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: name.sin_port)
    }
}

/// The server's side of a WebSocket, over a blocking socket.
enum WebSocketBytes {
    /// Reads the request and answers it. False: the connection has ended, or it is no such request.
    static func open(_ connection: Int32) -> Bool {
        var request = ""
        var bytes = [UInt8](repeating: 0, count: 4096)
        while !request.contains("\r\n\r\n") {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return false }
            request += String(decoding: bytes[..<count], as: UTF8.self)
        }
        guard let key = request.firstMatch(of: /Sec-WebSocket-Key: (.*)\r\n/)?.1 else { return false }
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \(WebRouter.accept(String(key)))\r\n\r\n"
        return send(connection, Array(answer.utf8))
    }

    static func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// A frame as a server sends it.
    static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length =
            payload.count < 126
            ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        return [first] + length + payload
    }

    /// The text of the client's next frame. Nil: the connection has ended, or it is no text.
    static func text(_ connection: Int32) -> [UInt8]? {
        guard let head = read(connection, 2), head[0] == 0x81, var length = Optional(Int(head[1] & 0x7F)) else {
            return nil
        }
        if length == 126 {
            guard let long = read(connection, 2) else { return nil }
            length = Int(long[0]) << 8 | Int(long[1])
        }
        guard let mask = read(connection, 4), let payload = read(connection, length) else { return nil }
        return payload.enumerated().map { $0.element ^ mask[$0.offset % 4] }
    }

    private static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let more = bytes.withUnsafeMutableBytes { recv(connection, $0.baseAddress! + have, count - have, 0) }
            guard more > 0 else { return nil }
            have += more
        }
        return bytes
    }
}
