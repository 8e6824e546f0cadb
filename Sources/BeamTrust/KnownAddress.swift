import Glibc

/// A numeric address and a TCP port at which a host has proved its key.
///
/// It proves nothing by itself: another machine may have the address by now.
public struct KnownAddress: Hashable, Sendable, CustomStringConvertible {
    /// IPv4 (`192.0.2.7`), or IPv6 without brackets (`2001:db8::7`); a link-local one names the interface
    /// (`fe80::1%eth0`).
    public let host: String
    /// Never 0.
    public let port: UInt16

    /// In bytes: the longest IPv6 address, `%` and the name of an interface.
    private static let longestHost = 64

    /// Nil if `host` isn't the numeric address of one machine, or if `port` is 0.
    public init?(host: String, port: UInt16) {
        guard port != 0, host.utf8.count <= Self.longestHost, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            Self.isV4(host) || Self.isV6(host)
        else { return nil }
        self.host = host
        self.port = port
    }

    /// Parses the format of `description`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let (place, digits) = (text[..<colon], text[text.index(after: colon)...])
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        if place.hasPrefix("["), place.hasSuffix("]") {
            let host = String(place.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
            self.init(host: host, port: port)
        } else {
            guard !place.contains(":") else { return nil }
            self.init(host: String(place), port: port)
        }
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    private static func isV4(_ text: String) -> Bool {
        var address = in_addr()
        guard inet_pton(AF_INET, text, &address) == 1 else { return false }
        // Not "this network" (RFC 1122), multicast (RFC 5771) or reserved (RFC 1112).
        return (1..<224).contains(UInt32(bigEndian: address.s_addr) >> 24)
    }

    private static func isV6(_ text: String) -> Bool {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        var address = in6_addr()
        guard parts.count <= 2, inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { return false }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        let isLinkLocal = bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        // Without its interface, a link-local address is none (RFC 4007).
        guard isLinkLocal == (parts.count == 2), parts.count == 1 || isInterface(parts[1]) else { return false }
        // Not multicast, and not unspecified (RFC 4291).
        return bytes[0] != 0xFF && bytes.contains { $0 != 0 }
    }

    private static func isInterface(_ name: Substring) -> Bool {
        (1..<Int(IFNAMSIZ)).contains(name.utf8.count)
            && !name.contains { "%/:[]".contains($0) }
    }
}
