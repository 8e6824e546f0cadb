import BeamMedia
import BeamWire
import Glibc
import NIOCore

extension NetworkAddress {
    /// Nil if it is neither IPv4 nor IPv6.
    package init?(_ address: SocketAddress) {
        guard let ip = IPAddress(address) else { return nil }
        self.init(ip: ip, port: UInt16(clamping: address.port ?? 0))
    }
}

extension NetworkAddress {
    /// Calls `body` with this address as a `sockaddr` for a socket of the given family. Nothing is allocated.
    package func withSocketAddress<Result>(
        onV6Socket: Bool, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        func call(_ address: some Sendable) -> Result {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout.size(ofValue: address)))
                }
            }
        }
        if case .v4(let bits) = ip, !onV6Socket { return call(IPAddress.v4SocketAddress(bits, port: port)) }
        return call(ip.v6SocketAddress(port: port))
    }
}

extension IPAddress {
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4(let v4):
            self = .v4(UInt32(bigEndian: v4.address.sin_addr.s_addr))
        case .v6(let v6):
            var bits = v6.address.sin6_addr
            let bytes = withUnsafeBytes(of: &bits) { Array($0) }
            self.init(v6Bytes: bytes, scope: v6.address.sin6_scope_id)
        case .unixDomainSocket:
            return nil
        }
    }

    /// This address for a socket of the given family: an IPv6 socket that serves both reaches IPv4 by mapped addresses.
    package func socketAddress(port: UInt16, onV6Socket: Bool) -> SocketAddress {
        if case .v4(let bits) = self, !onV6Socket {
            return SocketAddress(Self.v4SocketAddress(bits, port: port), host: "")
        }
        return SocketAddress(v6SocketAddress(port: port), host: "")
    }

    fileprivate static func v4SocketAddress(_ bits: UInt32, port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = bits.bigEndian
        return address
    }

    fileprivate func v6SocketAddress(port: UInt16) -> sockaddr_in6 {
        switch self {
        case .v4(let bits): Self.v6Address(high: 0, low: 0xFFFF << 32 | UInt64(bits), scope: 0, port: port)
        case .v6(let high, let low, let scope): Self.v6Address(high: high, low: low, scope: scope, port: port)
        }
    }

    private static func v6Address(high: UInt64, low: UInt64, scope: UInt32, port: UInt16) -> sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_scope_id = scope
        withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
            var writer = BigEndianWriter(bytes)
            writer.write(high)
            writer.write(low)
        }
        return address
    }
}

extension SocketAddress {
    /// The same address with another port.
    package func with(port: UInt16) -> SocketAddress {
        var copy = self
        copy.port = Int(port)
        return copy
    }

    package var isV6: Bool {
        if case .v6 = self { true } else { false }
    }
}
