import NIOCore
import NIOPosix

/// The addresses at which other machines can reach this one.
public enum LocalAddresses {
    /// Numeric, IPv4 first, without loopback and link-local addresses. Empty if the machine has no network.
    public static func list() -> [String] {
        let devices = (try? System.enumerateDevices()) ?? []
        let addresses = devices.compactMap(\.address)
        let v4 = addresses.compactMap { address -> String? in
            guard case .v4 = address, let ip = address.ipAddress else { return nil }
            return ip.hasPrefix("127.") || ip.hasPrefix("169.254.") ? nil : ip
        }
        let v6 = addresses.compactMap { address -> String? in
            guard case .v6 = address, let ip = address.ipAddress?.lowercased() else { return nil }
            return ip == "::1" || ip.hasPrefix("fe80:") ? nil : ip
        }
        return v4 + v6
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
}
