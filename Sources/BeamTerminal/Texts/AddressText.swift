import BeamNetwork

/// How to reach this machine from another one: what to type there.
public struct AddressText: Sendable {
    /// `To watch`: the beginning of a sentence.
    var purpose: String
    /// `watch`, `room --at`: what the address follows.
    var command: String
    /// The address that this program listens on; nil: on all.
    var bindAddress: String?
    var port: UInt16
    /// Which needn't be typed.
    var usualPort: UInt16

    public init(
        purpose: String, command: String, bindAddress: String?, port: UInt16,
        usualPort: UInt16 = AddressText.usualPort
    ) {
        (self.purpose, self.command, self.bindAddress, self.port) = (purpose, command, bindAddress, port)
        self.usualPort = usualPort
    }

    /// More addresses than this are no help.
    private static let most = 5

    /// - Parameter addresses: of this machine, the likeliest first.
    public func sentence(_ addresses: [LocalAddress] = LocalAddresses.reachable()) -> String {
        let addresses = listened(addresses)
        guard let first = addresses.first else {
            return "This machine has no address on a network at present, so no other machine can reach it. "
                + "The address is shown here when there is one."
        }
        if first.kind == .loopback {
            return "\(purpose), run on this machine: \(run(first.text)). No other machine can reach \(first.text)."
        }
        guard first.isLinkLocalV6 else {
            return "\(purpose), run on another machine: "
                + addresses.filter { !$0.isLinkLocalV6 }.prefix(Self.most).map { run($0.text) }
                .joined(separator: " or ") + "."
        }
        // The interface's name here says nothing about the one there.
        return "\(purpose), run on another machine on the same cable or Wi-Fi: \(run(first.text + "%eth0")). "
            + "In place of eth0 write the network interface of that machine, which `ip link` lists there."
    }

    /// Whether another machine may reach this one.
    public func isReachable(_ addresses: [LocalAddress] = LocalAddresses.reachable()) -> Bool {
        !listened(addresses).isEmpty
    }

    func listened(_ addresses: [LocalAddress]) -> [LocalAddress] {
        switch bindAddress {
        case nil, "::"?: return addresses
        case "0.0.0.0"?: return addresses.filter { !$0.text.contains(":") }
        case let bound?:
            let parts = bound.split(separator: "%", maxSplits: 1)
            return [LocalAddress(String(parts.first ?? ""), on: parts.count > 1 ? String(parts[1]) : "")]
        }
    }

    private func run(_ host: String) -> String {
        "`beamroom \(command) \(port == usualPort ? host : Endpoint(host: host, port: port).description)`"
    }

    /// Where nothing else is said, a host or a member listens on this TCP port.
    public static let usualPort: UInt16 = 52345

    /// The address as it is typed, which has a port only if that isn't the usual one.
    static func typed(_ endpoint: Endpoint) -> String {
        endpoint.port == usualPort ? endpoint.host : endpoint.description
    }
}
