/// A service that is on the local network now, whatever the number of interfaces it is seen on.
public struct DiscoveredHost: Sendable, Hashable {
    /// The name of the instance, as people see it. Safe to show in a terminal.
    public var name: String
    /// The host's name in the multicast DNS, such as `studio.local`.
    public var hostName: String
    /// TCP or UDP port, by the type of the service; never 0.
    public var port: UInt16
    /// Numeric addresses, the most promising first: on ordinary interfaces IPv4, IPv6, then link-local ones; then on
    /// interfaces of containers, virtual machines and tunnels; then loopback. Link-local IPv6 addresses carry their
    /// interface: `fe80::1%eth0`.
    public var addresses: [String]
    /// The pairs of the TXT record. Values are safe to show in a terminal.
    public var txt: [String: String]
    /// Announced by a program on this machine.
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

/// What a browser sees.
public enum BrowserEvent: Sendable, Equatable {
    /// A host has appeared, or something about it has changed.
    case found(DiscoveredHost)
    /// The host of this name has gone from all interfaces.
    case lost(name: String)
    /// The daemon is there. Comes at first, and after `unavailable`.
    case available
    /// There is no daemon that could look around; as soon as there is one, browsing goes on. A sentence for a person.
    case unavailable(reason: String)
    /// All hosts that are on the network at this time have been reported. Comes again after the daemon has been away.
    case settled
}
