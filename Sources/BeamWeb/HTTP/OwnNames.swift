import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// The names by which browsers reach this machine; others are refused (see `RequestedHost`).
struct OwnNames: Sendable {
    /// In lower case, without a dot at the end; `*.example.org` stands for all names with one more label.
    private let names: Set<String>

    /// - Parameters:
    ///   - hostName: of this machine.
    ///   - others: for example those that a certificate names.
    init(hostName: String, others: [String] = []) {
        names = RequestedHost.names(of: hostName).union(others.map(RequestedHost.normal)).subtracting([""])
    }

    /// Whether the value of a request's *Host* is one of this machine's.
    func accept(_ host: String, addresses: () -> [IPAddress] = OwnAddresses.all) -> Bool {
        switch RequestedHost(host) {
        case .address(let address):
            return address.isLoopback || addresses().contains { $0.withoutScope == address.withoutScope }
        case .name(let name):
            let parent = name.firstIndex(of: ".").map { "*" + name[$0...] }
            return names.contains(name) || parent.map(names.contains) ?? false
        case nil: return false
        }
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
