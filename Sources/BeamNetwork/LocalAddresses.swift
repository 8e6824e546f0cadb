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
}
