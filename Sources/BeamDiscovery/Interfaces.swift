import CAvahi
import Glibc

/// The result of resolving one sighting of a service.
struct Resolution: Hashable {
    var hostName: String
    /// Numeric; link-local IPv6 addresses include the interface: `fe80::1%eth0`.
    var address: String
    var port: UInt16
    /// The strings of the TXT record.
    var txt: [[UInt8]]
    var isLocal: Bool
    /// Preference of this address; lower is better.
    var rank: Int
}

extension Resolution {
    init(
        interface: Int32, hostName: String, address: UnsafePointer<AvahiAddress>, port: UInt16, txt: [[UInt8]],
        isLocal: Bool
    ) {
        // AVAHI_ADDRESS_STR_MAX: the longest IPv6 address with its NUL.
        var text = [CChar](repeating: 0, count: 40)
        avahi_address_snprint(&text, text.count, address)
        let numeric = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let name = Self.interfaceName(interface)
        let kind = AddressKind(numeric)
        self.init(
            hostName: hostName,
            address: kind == .linkLocalIPv6 ? "\(numeric)%\(name ?? String(interface))" : numeric,
            port: port, txt: txt, isLocal: isLocal,
            rank: InterfaceKind(name: name ?? "").rawValue * AddressKind.allCases.count + kind.rawValue)
    }

    private static func interfaceName(_ index: Int32) -> String? {
        guard index > 0 else { return nil }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        return if_indextoname(UInt32(index), &name).map { String(cString: $0) }
    }
}

/// Kinds of addresses, in order of preference.
enum AddressKind: Int, CaseIterable {
    case ipv4
    case ipv6
    /// 169.254/16, self-assigned because there is no DHCP server.
    case linkLocalIPv4
    case linkLocalIPv6

    /// - Parameter numeric: a numeric address without a scope.
    init(_ numeric: String) {
        if numeric.contains(":") {
            // fe80::/10
            let group = numeric.prefix { $0 != ":" }.lowercased()
            let isLinkLocal = group.count == 4 && ["fe8", "fe9", "fea", "feb"].contains { group.hasPrefix($0) }
            self = isLinkLocal ? .linkLocalIPv6 : .ipv6
        } else {
            self = numeric.hasPrefix("169.254.") ? .linkLocalIPv4 : .ipv4
        }
    }
}

/// Kinds of network interfaces, in order of preference.
enum InterfaceKind: Int {
    case ordinary
    /// Of containers, virtual machines and tunnels. An address seen there may not lead to the machine with the service.
    case virtual
    case loopback

    private static let virtualPrefixes = [
        "br-", "cali", "cni", "docker", "flannel", "lxc", "lxd", "podman", "tailscale", "tap", "tun", "vboxnet",
        "veth", "virbr", "vmnet", "vnet", "wg", "zt",
    ]

    init(name: String) {
        if name == "lo" {
            self = .loopback
        } else {
            self = Self.virtualPrefixes.contains { name.hasPrefix($0) } ? .virtual : .ordinary
        }
    }
}
