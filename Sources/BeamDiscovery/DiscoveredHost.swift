/// A service on the local network, merged from all interfaces that it is seen on.
public struct DiscoveredHost: Sendable, Hashable {
    /// The instance name. Safe to print in a terminal.
    public var name: String
    /// The multicast DNS host name, such as `studio.local`.
    public var hostName: String
    /// TCP or UDP port, depending on the service type; never 0.
    public var port: UInt16
    /// Numeric addresses, best first: ordinary interfaces (IPv4, IPv6, link-local), then virtual interfaces
    /// (containers, virtual machines, tunnels), then loopback. Link-local IPv6 addresses include the interface:
    /// `fe80::1%eth0`.
    public var addresses: [String]
    /// The TXT record's pairs. Values are safe to print in a terminal.
    public var txt: [String: String]
    /// Announced by this machine.
    public var isLocal: Bool

    public init(
        name: String, hostName: String, port: UInt16, addresses: [String], txt: [String: String], isLocal: Bool
    ) {
        self.name = name
        self.hostName = hostName
        self.port = port
        self.addresses = addresses
        self.txt = txt
        self.isLocal = isLocal
    }
}

/// An event from a `ServiceBrowser`.
public enum BrowserEvent: Sendable, Equatable {
    /// A host has appeared or changed.
    case found(DiscoveredHost)
    /// The host with this name is gone from all interfaces.
    case lost(name: String)
    /// The daemon is available: reported first, and after `unavailable`.
    case available
    /// There is no Avahi daemon. Browsing continues as soon as there is one. The reason is a person-facing sentence.
    case unavailable(reason: String)
    /// All hosts on the network at this time have been reported. Reported again after the daemon was away.
    case settled
}
