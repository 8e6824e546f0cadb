import Foundation
import Synchronization

@testable import BeamWeb

/// Opens WebSockets as Janus does, and then sends the same bytes without end, and reads nothing. On loopback.
final class HostileGateway: Sendable {
    /// `ws://127.0.0.1:PORT`.
    let address: String
    private let descriptor: Int32
    private let sent = Mutex(0)

    /// Bytes that were taken from it, over all connections.
    var bytesSent: Int { sent.withLock { $0 } }

    /// - Parameter flood: what is sent again and again.
    init(_ flood: [UInt8]) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let port = try Self.listen(descriptor)
        address = "ws://127.0.0.1:\(port)"
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                serve(connection, flood)
                close(connection)
            }
        }
    }

    /// Its thread ends.
    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    private static func listen(_ descriptor: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | Glibc.listen(descriptor, 5) | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw CocoaError(.fileReadUnknown) }
        return UInt16(bigEndian: address.sin_port)
    }

    private func serve(_ connection: Int32, _ flood: [UInt8]) {
        var request = ""
        var bytes = [UInt8](repeating: 0, count: 4096)
        while !request.contains("\r\n\r\n") {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            request += String(decoding: bytes[..<count], as: UTF8.self)
        }
        guard let key = request.firstMatch(of: /Sec-WebSocket-Key: (.*)\r\n/)?.1 else { return }
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \(WebRouter.accept(String(key)))\r\n\r\n"
        guard send(connection, Array(answer.utf8)) else { return }
        let block = Array(repeatElement(flood, count: max(1, (64 << 10) / flood.count)).joined())
        // Until the connection is closed.
        while send(connection, block) { sent.withLock { $0 += block.count } }
    }

    private func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
