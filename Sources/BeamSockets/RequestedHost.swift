import BeamWire
import NIOCore

/// The host that an HTTP request asks for: the value of its *Host* (RFC 9110, 7.2), without the port, which may be forwarded.
/// A value without I/O.
///
/// A page of another site can have its name lead to an address of this machine (DNS rebinding). For a browser that reaches
/// that, what this machine serves would then be of the page's origin, which could read it. The browser still sends that
/// name as *Host*. So a server answers only those who ask for a name of its own, or for an address, which can't be such a
/// name.
package enum RequestedHost: Hashable, Sendable {
    case address(IPAddress)
    /// In lower case, without a dot at the end. Not empty.
    case name(String)

    /// A name has at most 253 letters (RFC 1035, 2.3.4), and a port five digits.
    private static let longest = 260

    /// Nil if it isn't a host.
    package init?(_ header: String) {
        guard header.utf8.count <= Self.longest else { return nil }
        let isInBrackets = header.hasPrefix("[")
        let host: Substring
        let rest: Substring
        if isInBrackets {
            guard let end = header.firstIndex(of: "]") else { return nil }
            (host, rest) = (header.dropFirst().prefix { $0 != "]" }, header[header.index(after: end)...])
        } else {
            host = header.prefix { $0 != ":" }
            rest = header[host.endIndex...]
        }
        let digits = rest.dropFirst().utf8
        let isPort = rest.isEmpty || rest.first == ":" && digits.count <= 5
        guard isPort, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        if let ip = (try? SocketAddress(ipAddress: String(host), port: 0)).flatMap({ IPAddress($0) }) {
            self = .address(ip)
            return
        }
        let name = Self.normal(String(host))
        // Brackets are for addresses of IPv6.
        guard !isInBrackets, !name.isEmpty else { return nil }
        self = .name(name)
    }

    /// A name as `name` has it.
    package static func normal(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// The names of a machine: its own, what comes before the first dot of that, the same in `.local`, and `localhost`.
    ///
    /// - Parameter machine: empty: it has none.
    package static func names(of machine: String) -> Set<String> {
        let name = normal(machine)
        let short = name.prefix { $0 != "." }
        return short.isEmpty ? ["localhost"] : ["localhost", name, String(short), short + ".local"]
    }
}
