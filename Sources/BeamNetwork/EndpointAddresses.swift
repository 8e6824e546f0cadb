import BeamSockets
import BeamWire
import Glibc
import NIOCore

extension Endpoint {
    /// A numeric address with its port; link-local IPv6 addresses name the interface. Nil if it is neither IPv4 nor IPv6.
    init?(_ address: SocketAddress) {
        guard let ip = address.ipAddress, let port = address.port.flatMap({ UInt16(exactly: $0) }) else { return nil }
        // NIO's text may contain the scope already.
        var host = String(ip.prefix { $0 != "%" })
        if case .v6(let v6) = address, v6.address.sin6_scope_id != 0 {
            guard let name = Self.interface(v6.address.sin6_scope_id) else { return nil }
            host += "%" + name
        }
        self.init(host: host, port: port)
    }

    private static func interface(_ index: UInt32) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IFNAMSIZ)) { buffer in
            guard let name = buffer.baseAddress, if_indextoname(index, name) != nil else { return nil }
            return String(cString: name)
        }
    }

    /// The numeric address that the system's resolver has for it; nil: none. May wait for the network, without a bound of
    /// its own.
    public func resolved() -> NetworkAddress? {
        (try? SocketAddress.makeAddressResolvingHost(host, port: Int(port))).flatMap { NetworkAddress($0) }
    }
}

extension IPAddress {
    public var isV6: Bool { if case .v6 = self { true } else { false } }
}
