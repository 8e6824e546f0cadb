import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// The names by which browsers reach this machine.
///
/// A page of another site can have its name lead to this machine's address (DNS rebinding), and would then be of the same
/// origin as the host's page. The browser still sends that name as *Host*, and is refused.
struct OwnNames: Sendable {
    /// In lower case, without a dot at the end; `*.example.org` stands for all names with one more label.
    private let names: Set<String>

    /// - Parameters:
    ///   - hostName: of this machine; also known are what comes before its first dot, and that in `.local`.
    ///   - others: for example those that a certificate names.
    init(hostName: String, others: [String] = []) {
        let name = Self.normal(hostName)
        let short = name.prefix { $0 != "." }
        names = Set(["localhost", name, String(short), short + ".local"] + others.map(Self.normal)).subtracting([
            "", ".local",
        ])
    }

    /// Whether the value of a request's *Host* (RFC 9110, 7.2) is one of this machine's. The port isn't looked at: it may be
    /// forwarded.
    func accept(_ host: String, addresses: () -> [IPAddress] = OwnAddresses.all) -> Bool {
        guard let name = Self.name(of: host) else { return false }
        if let address = (try? SocketAddress(ipAddress: name, port: 0)).flatMap({ IPAddress($0) }) {
            return address.isLoopback || addresses().contains { $0.withoutScope == address.withoutScope }
        }
        let normal = Self.normal(name)
        let parent = normal.firstIndex(of: ".").map { "*" + normal[$0...] }
        return names.contains(normal) || parent.map(names.contains) ?? false
    }

    /// Without the port; nil if it isn't a host.
    private static func name(of host: String) -> String? {
        guard host.utf8.count <= 260 else { return nil }
        let name: Substring
        let rest: Substring
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            name = host[host.index(after: host.startIndex)..<end]
            rest = host[host.index(after: end)...]
        } else {
            name = host.prefix { $0 != ":" }
            rest = host[name.endIndex...]
        }
        let isPort = rest.isEmpty || rest.first == ":" && rest.utf8.count <= 6
        let isNumber = rest.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isPort && isNumber && !name.isEmpty ? String(name) : nil
    }

    private static func normal(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// This machine's addresses.
public enum OwnAddresses {
    /// Loopback included; no one twice.
    @Sendable public static func all() -> [IPAddress] {
        let devices = (try? System.enumerateDevices()) ?? []
        var seen: Set<IPAddress> = []
        return devices.compactMap { $0.address.flatMap { IPAddress($0) } }.filter { seen.insert($0).inserted }
    }
}

extension IPAddress {
    var isLoopback: Bool {
        switch self {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low, _): high == 0 && low == 1
        }
    }

    var isLinkLocal: Bool {
        switch self {
        case .v4(let bits): bits >> 16 == 0xA9FE
        case .v6(let high, _, _): high >> 54 == 0xFE80 >> 6
        }
    }

    var withoutScope: IPAddress {
        if case .v6(let high, let low, _) = self { .v6(high: high, low: low, scope: 0) } else { self }
    }
}
