import Glibc

/// A TCP connection to loopback that sends nothing.
struct RawConnection {
    private let descriptor: CInt

    /// `from`: the last byte of the source address, 127.0.0.`from`.
    init(port: UInt16, from: UInt8 = 1) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        Self.withAddress(last: from, port: 0) { _ = bind(descriptor, $0, $1) }
        Self.withAddress(last: 1, port: port) { _ = connect(descriptor, $0, $1) }
    }

    private static func withAddress(last: UInt8, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7F00_0000 | UInt32(last)).bigEndian
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Waits for the connection's end. Answers its error; 0 for an orderly end.
    func waitForEnd() -> CInt {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, 0) < 0 ? errno : 0
    }

    func close() { _ = Glibc.close(descriptor) }
}
