import Foundation
import Testing

/// TCP ports for programs that a test starts.
enum TestPort {
    /// One of loopback's that was free a moment ago.
    static func free() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var port: UInt16 = 0
        let result = withAddress(0, loopback) { address, length in
            var length = length
            let result = bind(descriptor, address, length) | getsockname(descriptor, address, &length)
            port = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
            return result
        }
        try #require(result == 0)
        return port
    }

    /// Whether something listens there.
    static func isOpen(_ port: UInt16, at host: UInt32 = loopback) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withAddress(port, host) { connect(descriptor, $0, $1) } == 0
    }

    static let loopback: UInt32 = 0x7F00_0001

    private static func withAddress(
        _ port: UInt16, _ host: UInt32, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
