import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// An address of this machine on a network.
public struct LocalAddress: Sendable, Equatable {
    /// Numeric, without an interface.
    public var text: String
    public var interface: String

    public init(_ text: String, on interface: String) {
        self.text = text
        self.interface = interface
    }

    /// An IPv6 address that is valid on one network only. The machine that uses it has to name its own interface.
    public var isLinkLocalV6: Bool { kind == .linkLocalV6 }

    /// Of one interface, the one to type first.
    public enum Kind: Int, Sendable {
        case v4
        case v6
        /// 169.254/16, self-assigned because there is no DHCP server.
        case linkLocalV4
        case linkLocalV6
        case loopback
    }

    public var kind: Kind {
        guard text.contains(":") else {
            return text.hasPrefix("127.") ? .loopback : text.hasPrefix("169.254.") ? .linkLocalV4 : .v4
        }
        if text == "::1" { return .loopback }
        // fe80::/10
        let group = text.prefix { $0 != ":" }.lowercased()
        let isLinkLocal = group.count == 4 && ["fe8", "fe9", "fea", "feb"].contains { group.hasPrefix($0) }
        return isLinkLocal ? .linkLocalV6 : .v6
    }
}

/// The addresses at which other machines can reach this one.
public enum LocalAddresses {
    /// The likeliest first: of the interface of the default route, then of other networks, then of tunnels. Those of
    /// bridges for containers and virtual machines, which lead to no other machine, only if there is nothing else; and
    /// link-local IPv6 addresses only if there is no other address at all. Empty if the machine has no network.
    public static func reachable() -> [LocalAddress] {
        let (addresses, links, routes) = read()
        return reachable(addresses, links: links, routes: routes)
    }

    /// Whether all of them lead to containers and virtual machines on this machine, and to no other. False if there is none.
    public static func leadNowhere() -> Bool {
        let (addresses, links, routes) = read()
        return leadNowhere(addresses, links: links, routes: routes)
    }

    static func leadNowhere(
        _ addresses: [LocalAddress], links: [NetworkLink], routes: [String: UInt32]
    ) -> Bool {
        let ranked = ranked(addresses, links: links, routes: routes)
        return !ranked.isEmpty && ranked.allSatisfy { $0.reach == .inside }
    }

    private static func read() -> (addresses: [LocalAddress], links: [NetworkLink], routes: [String: UInt32]) {
        let devices = (try? System.enumerateDevices()) ?? []
        let addresses = devices.compactMap { device -> LocalAddress? in
            guard let text = device.address?.ipAddress?.lowercased() else { return nil }
            return LocalAddress(String(text.prefix { $0 != "%" }), on: device.name)
        }
        return (addresses, LinkTable.read(), DefaultRoutes.read())
    }

    /// The same as texts, without link-local IPv6 addresses.
    public static func list() -> [String] { reachable().filter { !$0.isLinkLocalV6 }.map(\.text) }

    /// The interfaces with an address at which others can reach this machine, and whether they carry multicast.
    public static func multicastInterfaces() -> [String: Bool] {
        let reachable = Set(reachable().map(\.interface))
        let devices = ((try? System.enumerateDevices()) ?? []).filter { reachable.contains($0.name) }
        return Dictionary(devices.map { ($0.name, $0.multicastSupported) }) { $0 || $1 }
    }

    /// The addresses at which others reach a socket that is bound to `address` (nil: to all): of those of this machine, if
    /// it is bound to no particular one.
    static func reached(boundTo address: String?, among all: [String] = list()) -> [String] {
        guard let address, let ip = (try? SocketAddress(ipAddress: address, port: 0)).flatMap({ IPAddress($0) }) else {
            return address.map { [$0] } ?? all
        }
        switch ip {
        case .v4(0): return all.filter { !$0.contains(":") }
        case .v6(high: 0, low: 0, scope: _): return all
        default: return [address]
        }
    }

    /// Whether a numeric address is one of this machine's, loopback and link-local ones included.
    public static func isOwn(_ address: String) -> Bool {
        // Without the interface's name.
        let address = address.lowercased().prefix { $0 != "%" }
        if address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.") { return true }
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.contains { device in
            guard let own = device.address?.ipAddress?.lowercased().prefix(while: { $0 != "%" }) else { return false }
            return own == address || "::ffff:" + own == address
        }
    }

    // MARK: The order

    /// Where an interface leads, the likeliest to other machines first.
    private enum Reach: Int {
        case defaultRoute
        case network
        case tunnel
        /// Containers and virtual machines on this machine.
        case inside
    }

    /// - Parameters:
    ///   - links: empty if they aren't known.
    ///   - routes: the metrics of the default routes.
    static func reachable(
        _ addresses: [LocalAddress], links: [NetworkLink], routes: [String: UInt32]
    ) -> [LocalAddress] {
        let ranked = ranked(addresses, links: links, routes: routes)
        let others = ranked.filter { $0.reach != .inside }
        return (others.isEmpty ? ranked : others).map(\.address)
    }

    /// The likeliest first, with where they lead.
    private static func ranked(
        _ addresses: [LocalAddress], links: [NetworkLink], routes: [String: UInt32]
    ) -> [(address: LocalAddress, reach: Reach)] {
        let known = Dictionary(links.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // A label may stand in place of an alias's interface: `eth0:1`.
        func link(_ name: String) -> NetworkLink? { known[name] ?? known[String(name.prefix { $0 != ":" })] }
        let usable = addresses.filter { address in
            guard address.kind != .loopback else { return false }
            return link(address.interface).map { $0.isRunning && !$0.isLoopback } ?? true
        }
        func isGlobal(_ address: LocalAddress) -> Bool { address.kind == .v4 || address.kind == .v6 }
        let normal = usable.filter { address in
            switch address.kind {
            case .v4, .v6: true
            case .linkLocalV4: !usable.contains { $0.interface == address.interface && isGlobal($0) }
            case .linkLocalV6, .loopback: false
            }
        }
        let ranked = (normal.isEmpty ? usable.filter(\.isLinkLocalV6) : normal).enumerated().map { place, address in
            let link = link(address.interface)
            let reach = reach(of: address.interface, link, links, routes)
            let metric = reach == .defaultRoute ? routes[link?.name ?? address.interface] ?? 0 : 0
            return (address: address, reach: reach, key: (reach.rawValue, metric, place: place))
        }
        // One interface's addresses stay together.
        func first(of interface: String) -> Int { usable.firstIndex { $0.interface == interface } ?? 0 }
        return ranked.sorted { one, other in
            let (a, b) = (one.address, other.address)
            return (one.key.0, one.key.1, first(of: a.interface), a.kind.rawValue, one.key.place)
                < (other.key.0, other.key.1, first(of: b.interface), b.kind.rawValue, other.key.place)
        }.map { ($0.address, $0.reach) }
    }

    private static func reach(
        of name: String, _ link: NetworkLink?, _ links: [NetworkLink], _ routes: [String: UInt32]
    ) -> Reach {
        // Also where a VPN has the default route: its address isn't one of the network around.
        if let link, isTunnel(link) { return .tunnel }
        if routes[link?.name ?? name] != nil { return .defaultRoute }
        return isInside(name, link, links) ? .inside : .network
    }

    private static let tunnelKinds: Set<String> = [
        "tun", "wireguard", "ipip", "sit", "gre", "gretap", "ip6gre", "ip6tnl", "vti", "vti6", "xfrm", "ppp", "vxlan",
        "geneve",
    ]
    /// ARPHRD_ETHER and ARPHRD_INFINIBAND.
    private static let networkTypes: Set<UInt16> = [1, 32]

    static func isTunnel(_ link: NetworkLink) -> Bool {
        link.isPointToPoint || link.kind.map { tunnelKinds.contains($0) } ?? false || !networkTypes.contains(link.type)
    }

    /// As containers' and virtual machines' managers name their interfaces; some of them look like hardware.
    private static let insidePrefixes = [
        "br-", "cali", "cni", "docker", "flannel", "lxc", "lxd", "podman", "vboxnet", "veth", "virbr", "vmnet", "vnet",
        "waydroid",
    ]

    private static func isInside(_ name: String, _ link: NetworkLink?, _ links: [NetworkLink]) -> Bool {
        if insidePrefixes.contains(where: { name.hasPrefix($0) }) { return true }
        guard let link else { return false }
        switch link.kind {
        case "dummy": return true
        case "bridge":
            // One with a cable in it leads to the network.
            return !links.contains { port in
                port.master == link.index && port.kind.map { ["bond", "team", "vlan"].contains($0) } ?? true
            }
        default: return false
        }
    }
}
